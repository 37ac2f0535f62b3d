"""Topics: what is built is found again, and no name changes the shape of a topic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringlight.fabric.errors import InvalidError
from ringlight.protos.bus.topics import Topics

NAMES = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="/+#$"), min_size=1)


@given(NAMES, NAMES)
def test_names_are_found_again(fabric, name):
    topics = Topics(fabric)
    assert topics.job_of(topics.job(name)) == name
    assert topics.agent_of(topics.heartbeat(name)) == name
    assert topics.agent_of(topics.job(name)) is None
    assert topics.job_of(topics.heartbeat(name)) is None


@given(NAMES, NAMES, NAMES)
def test_topics_of_another_fabric_are_none_of_ours(one, other, name):
    if one != other:
        assert Topics(one).job_of(Topics(other).job(name)) is None
        assert Topics(one).agent_of(Topics(other).heartbeat(name)) is None


@pytest.mark.parametrize("name", ["", "a/b", "a+", "#", "$SYS", "a\0", "a\nb", "a\u200bb"])
def test_a_name_that_would_change_the_shape_of_a_topic_is_refused(name):
    with pytest.raises(InvalidError, match="cannot be told over MQTT"):
        Topics(name)
    with pytest.raises(InvalidError, match="cannot be told over MQTT"):
        Topics("lab").job(name)


def test_topics_are_those_of_the_documentation():
    topics = Topics("lab")
    assert topics.events == "ringlight/lab/events"
    assert topics.controller == "ringlight/lab/controller"
    assert topics.job("train") == "ringlight/lab/jobs/train"
    assert topics.every_job == "ringlight/lab/jobs/+"
    assert topics.heartbeat("a1") == "ringlight/lab/agents/a1/heartbeat"
    assert topics.every_heartbeat == "ringlight/lab/agents/+/heartbeat"


@pytest.mark.parametrize(
    "topic", ["", "ringlight/lab/jobs/", "ringlight/lab/jobs/a/b", "ringlight/lab/agents/heartbeat"]
)
def test_what_is_no_topic_of_ours_names_nobody(topic):
    assert Topics("lab").job_of(topic) is None
    assert Topics("lab").agent_of(topic) is None
