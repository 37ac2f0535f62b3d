"""The compose file: valid by the specification, open to this machine only, and without rights that nobody needs."""

import re

import pytest
import yaml

from tests.deploy.compose import COMPOSE, DEPLOY, document, services
from tests.deploy.containerfile import CONTAINERFILE, stages

NAMES = sorted(services())
OURS = [name for name in NAMES if "build" in services()[name].definition]


def test_the_specification_accepts_it():
    specification = pytest.importorskip("compose_spec", reason="no compose-spec here: install it from PyPI")
    accepted = specification.PyCompose.from_yaml(yaml.safe_dump(document()))
    assert sorted(accepted.service_names()) == NAMES


@pytest.mark.parametrize(
    ("key", "value"), [("healthchek", {}), ("read_only", "maybe"), ("stop_grace_period", "15 apples")]
)
def test_the_specification_would_refuse_a_mistake(key, value):
    specification = pytest.importorskip("compose_spec", reason="no compose-spec here: install it from PyPI")
    wrong = document()
    wrong["services"]["controller"][key] = value
    with pytest.raises(ValueError, match=f"services.controller.*{key if key != 'stop_grace_period' else ''}"):
        specification.PyCompose.from_yaml(yaml.safe_dump(wrong))


def test_all_that_the_issue_asks_for_is_there():
    assert {"controller", "emulator", "mosquitto", "prometheus", "grafana"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_reached_from_elsewhere(name):
    for port in services()[name].definition.get("ports", ()):
        assert re.fullmatch(r"127\.0\.0\.1:(\d+):\d+", port), port


@pytest.mark.parametrize("name", NAMES)
def test_nothing_has_rights_that_it_does_not_need(name):
    service = services()[name].definition
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc"} & set(service)
    (of_image,) = [i.value for i in stages()[-1] if i.name == "USER"]
    assert re.fullmatch(r"[1-9]\d*:\d+", of_image if name in OURS else service["user"])


@pytest.mark.parametrize("name", NAMES)
def test_images_are_named_to_the_last_number(name):
    tag = services()[name].definition["image"].rpartition(":")[2]
    assert re.fullmatch(r"v?\d+\.\d+\.\d+", tag)


def test_our_image_is_the_one_of_the_container_file():
    (version,) = [i.value for i in stages()[-1] if i.name == "ARG"]
    for name in OURS:
        service = services()[name].definition
        assert service["image"] == f"ringlight:{version.removeprefix('VERSION=')}"
        assert (
            COMPOSE.parent / service["build"]["context"] / service["build"]["dockerfile"]
        ).resolve() == CONTAINERFILE


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_watched(name):
    service = services()[name]
    assert service.health_check
    assert service.definition["restart"] == "unless-stopped"
    for other, needed in service.definition.get("depends_on", {}).items():
        assert needed == {"condition": "service_healthy"}
        assert services()[other].health_check


@pytest.mark.parametrize("name", OURS)
def test_ours_may_take_the_time_that_a_stop_takes(name):
    assert services()[name].definition["stop_grace_period"] == "15s"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mounted_is_a_folder_of_deploy_that_it_cannot_change_or_a_named_volume(name):
    volumes = document()["volumes"]
    for mount in services()[name].mounts:
        if mount.volume:
            assert mount.source in volumes
        else:
            assert mount.read_only
            assert (DEPLOY / mount.source).resolve().is_relative_to(DEPLOY)


def provisioning(kind: str) -> list[dict]:
    """Files of Grafana's provisioning, which stands beside the compose file."""
    files = sorted((DEPLOY / "grafana" / "provisioning" / kind).glob("*.y*ml"))
    if not files:
        pytest.skip(f"no provisioned {kind} here")
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]


def test_grafana_finds_its_boards_where_they_are_mounted():
    mounted = {mount.target: DEPLOY / mount.source for mount in services()["grafana"].mounts if not mount.volume}
    for file in provisioning("dashboards"):
        for provider in file["providers"]:
            assert list(mounted[provider["options"]["path"]].glob("*.json"))


def test_grafana_asks_the_prometheus_of_the_lab():
    variables = services()["grafana"].definition["environment"]
    for file in provisioning("datasources"):
        for source in file["datasources"]:
            url = re.sub(r"\$\{?(\w+)\}?", lambda name: variables[name[1]], source["url"])
            assert url == "http://prometheus:9090"


def test_every_volume_is_used():
    used = {mount.source for service in services().values() for mount in service.mounts if mount.volume}
    assert used == set(document()["volumes"])
