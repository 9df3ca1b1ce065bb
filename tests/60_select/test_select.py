"""The choice of lines against the naive oracle, on candidate lists made up for it."""

from __future__ import annotations

import random

import pytest
from psycopg import ClientCursor
from tests import oracle
from tests.examples import share
from tests.oracle import Candidate, Rules
from tests.rows import calls_made

SELECT = """
SELECT r.chosen, r.spent
FROM memoir._select(
    %(scores)s::float8[], %(groups)s::smallint[], %(costs)s::float8[], %(brief_costs)s::float8[],
    %(terms)s::text[]::sparsevec[], %(term_counts)s::int[], %(heading_costs)s::float8[],
    %(smallest)s::float8, %(mmr_lambda)s::float8, %(mmr_lines)s::int, %(duplicate_at)s::float8,
    %(line_limit)s::int, %(budget)s::float8, NULL, NULL) AS r
"""


def select(conn, candidates, rules):
    """What the SQL chooses."""
    return conn.execute(SELECT, arguments(candidates, rules)).fetchone()


def arguments(candidates, rules):
    """What the SQL is given."""
    costs = [each.cost for each in candidates]
    briefs = [each.brief_cost for each in candidates]
    return vars(rules) | {
        "scores": [each.score for each in candidates],
        "groups": [each.group for each in candidates],
        "costs": costs,
        "brief_costs": briefs,
        "terms": [
            f"{{{','.join(f'{w}:1' for w in sorted(each.words))}}}/2000" for each in candidates
        ],
        "term_counts": [len(each.words) for each in candidates],
        "heading_costs": list(rules.heading_costs),
        "smallest": min([*costs, *(brief for brief in briefs if brief is not None)], default=0),
    }


def lines(*word_sets, **more):
    """Candidates of these words, best first, each of 10 tokens."""
    return [
        Candidate(1 - number / 100, 10, words=set(words), **more)
        for number, words in enumerate(word_sets)
    ]


def made_up(source):
    """Candidates that overlap, some cheap, some with briefs, of three kinds."""
    candidates = []
    for _ in range(source.randint(0, 60)):
        words = set(source.sample(range(1, 31), source.randint(0, 8)))
        if candidates and source.random() < 0.3:
            words = source.choice(candidates).words ^ set(source.sample(range(1, 31), 1))
        brief = source.randint(4, 40) / 4 if source.random() < 0.3 else None
        cost = source.randint(8, 160) / 4
        score = source.choice((source.random(), 0.5))
        candidates.append(Candidate(score, cost, brief, source.randint(1, 3), words))
    return sorted(candidates, key=lambda each: -each.score)


def made_up_block(source):
    """Candidates of which hundreds fit, some of them nearly said before."""
    vocabulary = source.choice((60, 1900))
    candidates = []
    for number in range(600):
        words = set(source.sample(range(1, vocabulary), source.randint(4, 12)))
        if number > 9 and source.random() < 0.3:
            words = source.choice(candidates).words ^ set(source.sample(range(1, vocabulary), 1))
        candidates.append(Candidate(1 - number / 1000, source.choice((1, 2)), words=words))
    return candidates


def made_up_rules(source):
    """Settings of a mode."""
    return Rules(
        budget=source.choice((10, 50, 200, 800)),
        heading_costs=(2.0, 3.5, 0.25),
        mmr_lambda=source.choice((0.5, 0.7, 1.0)),
        mmr_lines=source.choice((0, 1, 5, 60)),
        duplicate_at=source.choice((0.5, 0.8, 1.0)),
        line_limit=source.choice((1, 3, 1000)),
    )


@pytest.mark.parametrize("seed", range(share(20)))
def test_the_choice_is_that_of_the_oracle(tx, seed):
    for number in range(50):
        source = random.Random(1_000 * seed + number)
        candidates, rules = made_up(source), made_up_rules(source)
        expected = oracle.select(candidates, rules)
        assert select(tx, candidates, rules) == expected, (seed, number)


@pytest.mark.parametrize("seed", range(share(4)))
def test_the_choice_of_a_large_block_is_that_of_the_oracle(tx, seed):
    source = random.Random(seed)
    candidates = made_up_block(source)
    rules = Rules(budget=2000, duplicate_at=source.choice((0.7, 0.8, 1.0)))
    expected = oracle.select(candidates, rules)
    assert len(expected[0]) > 300
    assert select(tx, candidates, rules) == expected


def test_a_large_block_is_not_compared_line_by_line(tx):
    # Given lines of five words, of which one is rare and one of its own
    candidates = lines(*({1 + n % 7, 10 + n % 11, 21, 100 + n, 1000 + n % 90} for n in range(900)))
    statement = ClientCursor(tx).mogrify(SELECT, arguments(candidates, Rules(budget=100_000)))
    # When all are chosen
    compared = calls_made(tx, "sparsevec_negative_inner_product", statement)
    # Then of 404,550 pairs the first 300 lines are compared, and few of the rest
    assert compared < 300 * 299 / 2 + 10 * 600


def test_nothing_to_choose_from_gives_nothing(tx):
    assert select(tx, [], Rules(budget=100)) == ([], 0)


def test_lines_come_by_score(tx):
    assert select(tx, lines({1}, {2}, {3}), Rules(budget=100)) == ([1, 2, 3], 32)


def test_mmr_prefers_another_subject_to_more_of_the_same(tx):
    candidates = lines({1, 2, 3}, {1, 2, 4}, {7, 8, 9})
    assert select(tx, candidates, Rules(budget=100))[0] == [1, 3, 2]


def test_lambda_one_orders_by_score_alone(tx):
    candidates = lines({1, 2, 3}, {1, 2, 4}, {7, 8, 9})
    assert select(tx, candidates, Rules(budget=100, mmr_lambda=1))[0] == [1, 2, 3]


def test_mmr_orders_the_first_lines_only(tx):
    candidates = lines({1, 2, 3}, {1, 2, 4}, {7, 8, 9})
    assert select(tx, candidates, Rules(budget=100, mmr_lines=1))[0] == [1, 2, 3]


def test_a_near_duplicate_is_left_out(tx):
    candidates = lines({1, 2, 3, 4, 5}, {1, 2, 3, 4}, {7, 8, 9})
    assert select(tx, candidates, Rules(budget=100))[0] == [1, 3]


@pytest.mark.parametrize("size", [4, 8, 28, 100, 200])
def test_lines_that_share_exactly_four_fifths_are_duplicates(tx, size):
    extra = size // 4
    for left in range(extra + 1):
        one = set(range(1, size + left + 1))
        other = set(range(1, size + 1)) | set(range(500, 500 + extra - left))
        assert oracle.jaccard(one, other) == 0.8
        assert select(tx, lines(one, other), Rules(budget=100))[0] == [1]


def test_lines_that_share_less_are_kept(tx):
    candidates = lines({1, 2, 3, 4, 5}, {1, 2, 3, 4, 6})
    assert select(tx, candidates, Rules(budget=100))[0] == [1, 2]


def test_lines_without_words_are_never_duplicates(tx):
    assert select(tx, lines(set(), set()), Rules(budget=100))[0] == [1, 2]


def test_a_line_that_does_not_fit_is_skipped_not_the_end(tx):
    candidates = [Candidate(0.9, 90), Candidate(0.8, 20), Candidate(0.7, 5)]
    assert select(tx, candidates, Rules(budget=30)) == ([2, 3], 27)


def test_the_brief_stands_in_where_only_it_fits(tx):
    candidates = [Candidate(0.9, 90, brief_cost=10), Candidate(0.8, 5)]
    assert select(tx, candidates, Rules(budget=30)) == ([-1, 2], 17)


def test_a_heading_is_paid_once(tx):
    candidates = [Candidate(0.9, 10), Candidate(0.8, 10, group=2), Candidate(0.7, 10)]
    rules = Rules(budget=100, heading_costs=(4, 6))
    assert select(tx, candidates, rules) == ([1, 2, 3], 40)


def test_a_line_whose_heading_does_not_fit_is_skipped(tx):
    candidates = [Candidate(0.9, 10), Candidate(0.8, 10, group=2), Candidate(0.7, 10)]
    rules = Rules(budget=25, heading_costs=(2, 6))
    assert select(tx, candidates, rules) == ([1, 3], 22)


def test_a_budget_filled_to_the_last_token_is_not_exceeded(tx):
    assert select(tx, lines({1}, {2}), Rules(budget=22)) == ([1, 2], 22)


def test_no_more_lines_than_the_limit_are_chosen(tx):
    assert select(tx, lines({1}, {2}, {3}), Rules(budget=100, line_limit=2))[0] == [1, 2]
