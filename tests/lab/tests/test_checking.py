"""A reader who checks suggestions by headlines: the counts are right, and a check removes harm."""

from tests.lab.advisor.arrays import course_run
from tests.lab.advisor.checking import kept_by, lost_by
from tests.lab.advisor.rules import PLANNER_RULE
from tests.lab.tests.courses import asked, course
from tests.lab.world.world import world_make


def test_shares_are_of_the_helpful_and_of_the_harmful_and_of_what_these_cost():
    mine = course(
        0,
        0.1,
        asked(0.02),
        asked(0.01, accepted=False, withdrawn=True),
        asked(-0.03, accepted=False, withdrawn=True),
        asked(-0.01),
    )
    nobody = course(5, 0.0, asked(-0.5, withdrawn=True), null=True)
    assert kept_by([mine, nobody]) == {
        "withdrawn": 2,
        "helpful_kept": 0.5,
        "harmful_withdrawn": 0.5,
        "lost_kept": 0.25,
    }
    assert lost_by([mine, nobody]) == 0.5, "by accepted changes alone, of those who prefer something"


def test_a_withdrawn_change_is_neither_accepted_nor_made():
    world = world_make(3, 8 * 7)
    courses = [course_run(world, n, PLANNER_RULE, weeks=8, checks=True) for n in range(10)]
    given = [one for course in courses for one in course.asked]
    assert any(one.withdrawn for one in given) and any(one.accepted for one in given)
    assert not any(one.withdrawn and one.accepted for one in given)
