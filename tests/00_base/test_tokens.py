"""The words of a text."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import value

ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=60)


def tokens(conn, text):
    return set(value(conn, "SELECT memoir.tokens(%s)", text))


def test_english_words_are_stems_without_stop_words(tx):
    assert tokens(tx, "The cats were running to us") == {"cat", "run", "us"}


def test_a_chinese_run_gives_its_pairs_of_characters(tx):
    assert tokens(tx, "认证失败") == {"认证", "证失", "失败"}


def test_a_single_chinese_character_is_a_word(tx):
    assert tokens(tx, "错") == {"错"}


def test_japanese_and_korean_give_pairs_too(tx):
    assert tokens(tx, "カタカナ, 서울에") == {"カタ", "タカ", "カナ", "서울", "울에"}


def test_full_width_letters_and_digits_equal_plain_ones(tx):
    assert tokens(tx, "ＰＯＲＴ ８０８０") == {"8080", "port"}


def test_full_width_punctuation_separates(tx):
    assert tokens(tx, "认证，失败。") == {"认证", "失败"}


def test_a_text_of_two_languages_gives_the_words_of_both(tx):
    assert tokens(tx, "token过期 errors") == {"error", "token", "过期"}


def test_encoded_data_is_no_name_of_parts(tx):
    assert "chunk" in tokens(tx, "getChunkOfData" * 14)
    assert "chunk" not in tokens(tx, "getChunkOfData" * 15)


def test_punctuation_separates_words(tx):
    assert tokens(tx, "user+id,foo:42;(baz)") == {"42", "baz", "foo", "id", "user"}


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("set snake_case now", {"snake_case"}, {"set", "snake", "case"}),
        ("camelCase", {"camelcas"}, {"camel", "case"}),
        ("PascalCase", {"pascalcas"}, {"pascal", "case"}),
        ("getHTTPResponse", {"gethttprespons"}, {"get", "http", "respons"}),
        ("findByName", {"findbynam"}, {"find", "name"}),
        ("getUserByID", {"getuserbyid"}, {"get", "user", "id"}),
        ("OutOfMemoryError", {"outofmemoryerror"}, {"memori", "error"}),
        ("userId2Name", {"userid2name"}, {"user", "id2", "name"}),
        ("MySQLConnection", {"mysqlconnect"}, {"mysql", "connect"}),
        ("a.b.c", {"a.b.c"}, {"b", "c"}),
        ("kebab-case", {"kebab-case"}, {"kebab", "case"}),
        ("src/app/main.py", {"src/app/main.py", "main.py"}, {"src", "app", "main", "py"}),
        (r"C:\app\x.py", {"app/x.py", "x.py"}, {"c", "app", "x", "py"}),
        ("./src/__init__.py", {"src/__init__.py", "init__.py"}, {"src", "init", "py"}),
        ("/etc/hosts.d/x", {"etc/hosts.d/x", "hosts.d"}, {"etc", "host", "d", "x"}),
        ("ECONNREFUSED", {"econnrefus"}, set()),
        ("ERR_1234", {"err_1234"}, {"err", "1234"}),
        ("E11000", {"e11000"}, set()),
        ("HTTP 503", set(), {"http", "503"}),
        ("v1.2.3", {"v1.2.3", "1.2.3"}, {"v1", "2", "3"}),
        ("10.0.0.1:5432", {"10.0.0.1"}, {"10", "0", "1", "5432"}),
        ("me@example.com", {"me@example.com"}, {"exampl", "com"}),
        ("ＭＹ＿ＶＡＲ", {"my_var"}, {"var"}),
        ("用Docker部署my_app", {"my_app"}, {"用", "docker", "部署", "app"}),
        ("设置log_level为debug", {"log_level"}, {"设置", "log", "level", "为", "debug"}),
    ],
)
def test_an_identifier_is_a_word_and_so_are_its_parts(tx, text, whole, parts):
    assert tokens(tx, text) == whole | parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know", {"know"}),
        ("at 3:30 p.m.", {"3", "30", "p", "m"}),
        ("he and/or she", set()),
        ("e.g. tea", {"e", "g", "tea"}),
        ("well...maybe", {"mayb", "well"}),
        ("tea - green -- hot", {"tea", "green", "hot"}),
        ("2024-05-01 or 5/1/2024", {"2024", "05", "01", "5", "1"}),
        ("24/7 support/help", {"24", "7", "support", "help"}),
        ("iPhone PDFs", {"iphon", "pdfs"}),
        ("_really_ a.", {"realli"}),
    ],
)
def test_prose_is_no_identifier(tx, text, words):
    assert tokens(tx, text) == words


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("It costs $1,500 a month.", "1500"),
        ("1,234,567 rows", "1234567"),
        ("Paid 1,000.50", "1000"),
        ("价格是1,500元", "1500"),
        ("１，５００", "1500"),
    ],
)
def test_a_number_with_commas_is_that_without(tx, text, number):
    assert number in tokens(tx, text)


@pytest.mark.parametrize("text", ["1,00", "12,3456", "2023,500", "1,2,3", "x1,500", "1.5,500"])
def test_other_commas_separate_numbers(tx, text):
    assert max(map(len, tokens(tx, text))) <= 4


def test_an_identifier_is_found_by_its_spelling_in_lower_case(tx):
    assert tokens(tx, "getUserName") > tokens(tx, "getusername")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我们的数据库是什么？", {"数据", "据库"}),
        ("你用的是什么编辑器", {"编辑", "辑器"}),
        ("这是什么", set()),
        ("目的地", {"目的"}),
        ("部署了服务", {"部署", "了服", "服务"}),
    ],
)
def test_pairs_of_chinese_grammar_are_stop_words(tx, text, words):
    assert tokens(tx, text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我家猫的名字", {"家猫", "名字", "家", "猫"}),
        ("车是白色的", {"车", "白色"}),
        ("貓和狗", {"猫和", "和狗", "猫", "狗"}),
        ("认证失败", {"认证", "证失", "失败"}),
    ],
)
def test_a_noun_of_one_character_is_a_word_besides_its_pairs(tx, text, words):
    assert tokens(tx, text) == words


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("認證失敗", "认证失败"),
        ("臺北", "台北"),
        ("衞生説明", "卫生说明"),
        ("発行", "发行"),
        ("理髮", "理发"),
        ("渡邉", "渡辺"),
        ("髙橋", "高桥"),
        ("這是什麼", ""),
        ("我們的規範", "规范"),
        ("部署ＡＰＩ閘道器", "部署API闸道器"),
    ],
)
def test_traditional_and_japanese_characters_are_those_of_simplified_chinese(tx, text, same):
    assert tokens(tx, text) == tokens(tx, same)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("他二十五岁", "他25岁"),
        ("三楼会议室", "3楼会议室"),
        ("兩百零六號", "206号"),
        ("一千零一十层", "1010层"),
        ("十点，十二点半", "10点，12点半"),
        ("二〇二三年十一月八日", "2023年11月8日"),
        ("一九八四年", "1984年"),
        ("百分之八十五", "百分之85"),
        ("九千九百九十九", "9999"),
    ],
)
def test_a_number_in_chinese_is_that_in_digits(tx, text, same):
    assert tokens(tx, text) == tokens(tx, same)


@pytest.mark.parametrize(
    "text",
    ["一点也不", "一天三顿", "三万二千", "五一去哪", "一五一十", "张三李四", "千万小心", "一百二"],
)
def test_a_numeral_of_a_phrase_stays_as_it_is(tx, text):
    assert not any(token.isdigit() for token in tokens(tx, text))


def test_a_simplified_character_is_that_of_no_other(tx):
    forms = value(tx, "SELECT memoir._simplified_forms()")
    assert len(forms) > 2800
    assert not forms.keys() & set(forms.values())


def test_a_text_keeps_its_length_in_simplified_characters(tx):
    text = "用 Docker 佈署資料庫：渡邊さん😀"
    simplified = "用 Docker 布署资料库：渡边さん😀"
    assert value(tx, "SELECT memoir._simplified(%s)", text) == simplified


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("車を買う", {"车", "买う"}),
        ("車はどこですか", {"车", "どこ", "こで"}),
        ("妻の仕事", {"妻", "仕事"}),
        ("サーバーのログ", {"サー", "ーバ", "バー", "ログ"}),
        ("どこでも", {"どこ", "こで", "でも"}),
    ],
)
def test_a_particle_of_japanese_is_no_part_of_a_word(tx, text, words):
    assert tokens(tx, text) == words


def test_a_character_that_is_not_seen_is_none(tx):
    assert tokens(tx, "\ufeff数据\u200b库 auto\u00admatic de\u2060ploy") == tokens(
        tx, "数据库 automatic deploy"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Zürich, Müller", {"zurich", "muller"}),
        ("cafés naïve résumé", {"cafe", "naiv", "resum"}),
        ("Straße GROẞ Øresund Łódź", {"strass", "gross", "oresund", "lodz"}),
        ("año œuvre Ægir þorn", {"ano", "oeuvr", "aegir", "thorn"}),
        ("İstanbul ISTANBUL ılık", {"istanbul", "ilik"}),
        ("Đà Nẵng, Việt Nam", {"da", "nang", "viet", "nam"}),
        ("Ёлка елка мой за\u0301мок війна", {"елка", "мой", "замок", "війна"}),
        ("Ελλάδα ελλαδα Σίσυφος", {"ελλαδα", "σισυφοσ"}),
        ("مُحَمَّد أحمد كتـاب", {"محمد", "احمد", "كتاب"}),
        ("שָׁלוֹם", {"שלום"}),
        ("naïve_bayes", {"naive_bayes", "naiv", "bay"}),
        ("認證 Zürich が", {"认证", "zurich", "が"}),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_letter_with_an_accent_is_that_without(tx, text, words, form):
    assert tokens(tx, normalize(form, text)) == words


def test_an_accent_makes_no_stop_word(tx):
    assert tokens(tx, "thé mẹ số the me so") == {"the", "me", "so"}


@pytest.mark.parametrize(
    ("word", "known_by"),
    [("手机", ["手机"]), ("猫", ["猫"]), ("sim卡", ["sim", "卡"]), ("家 书", ["书", "家"])],
)
def test_a_synonym_is_known_by_its_pairs_and_by_nouns_of_one_character_between(tx, word, known_by):
    assert sorted(value(tx, "SELECT memoir._spelled(%s)", word)) == known_by


def test_marks_that_are_vowels_stay(tx):
    assert tokens(tx, "हिन्दी தமிழ்") == {"हिन्दी", "தமிழ்"}


@pytest.mark.parametrize("text", ["", "   ", "???", "the of and", "，。！", "😀"])
def test_a_text_without_words_has_none(tx, text):
    assert tokens(tx, text) == set()


@pytest.mark.parametrize(("filler", "word"), [("a ", "zebra"), ("的 ", "斑马")])
def test_only_the_first_20000_characters_count(tx, filler, word):
    assert word in tokens(tx, filler * 9_990 + word)
    assert word not in tokens(tx, filler * 10_000 + word)


@given(text=st.text(st.sampled_from("abAB1 .,:'\n"), max_size=40))
def test_a_line_break_separates_as_a_space_does(tx, text):
    assert tokens(tx, text) == tokens(tx, text.replace("\n", " "))


@given(text=st.text(st.sampled_from("aB1 -[].:,\n"), max_size=20))
def test_a_text_that_is_read_as_it_stands_has_the_words_of_one_without_signs(tx, text):
    assert tokens(tx, text) == set(value(tx, "SELECT memoir._tokens_ascii(%s)", text))


@given(text=ASCII | st.text(st.sampled_from("aB1 _./-–—‘’“”…•"), max_size=20))
def test_a_chinese_character_beside_it_does_not_change_english_text(tx, text):
    assert tokens(tx, text + " 错") == tokens(tx, text) | {"错"}
