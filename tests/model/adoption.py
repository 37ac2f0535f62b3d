"""A controller takes over light that is not where its store says (`controller.engine.adoption`)."""

from tests.model.states import MEMBERS, UNREAD, Controller


def adopt_light(controller: Controller) -> Controller:
    """`adopt_what_is_lit`: a ring that is lit elsewhere than the store says is proven where it lies."""
    standing = MEMBERS[controller.chain] if all(map(controller.in_place, MEMBERS[controller.chain])) else ()
    for hop in (1, 2):
        views = {node: controller.views[node] for node in MEMBERS[hop] if node not in standing}
        shown = [node for node, view in views.items() if not view.owed and view.seen == view.lit == hop]
        if any(views[node].is_being_undone for node in shown):
            continue
        if len(shown) == 2:  # both ends
            leaves = 0 in shown and controller.drain == "draining"
            if _is_astray(controller) and not leaves:
                return _take_over(controller, hop)
        elif all(controller.views[node].seen != UNREAD for node in MEMBERS[hop]):  # `_disown`
            for node in shown:
                controller = controller.seeing(node, controller.views[node]._replace(foreign=False))
    return controller


def _is_astray(controller: Controller) -> bool:
    """`_lost_ring`: the ring waits, or every node of it was heard and we have not begun to change that."""
    views = [controller.views[node] for node in MEMBERS[controller.chain]]
    return all(view.seen != UNREAD and view.told == 0 for view in views)


def _take_over(controller: Controller, hop: int) -> Controller:
    controller = controller._replace(chain=hop, ring="VERIFYING", established=True)
    for node in MEMBERS[hop]:
        controller = controller.seeing(node, controller.views[node]._replace(owed=0, foreign=False))
    return controller
