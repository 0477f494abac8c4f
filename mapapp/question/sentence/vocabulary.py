"""Fixed phrases and what they mean.

A pattern is a regular expression over the words of a sentence in the spelling of `mapapp.question.sentence.text`,
separated by single spaces. `mapapp.question.sentence.amounts` has the phrases that contain numbers.
"""

from __future__ import annotations

import re
from typing import Final

from mapapp.question.sentence.meanings import (
    Asks,
    Bands,
    Empty,
    Here,
    Joint,
    Meaning,
    Missing,
    Near,
    Noun,
    Opposite,
    People,
    Shown,
    Verb,
    Where,
)

# Phrases for what people ask for and publications do not count, and what can be asked instead.

_ASK: Final = "{ask}"
"""Becomes `ask by age, earnings, or industry`, with the attributes that the publication has."""
MISSING: Final = (
    (
        "(?:by )?(?:race|races|racial|ethnicity|ethnic|hispanics?|latin[oax]s?|blacks?|whites?|asians?|"
        "african americans?|native americans?|"
        "minorit(?:y|ies))",
        Missing(f"Race and ethnicity are not in {{here}}; {_ASK}.", ("race", "ethnicity")),
    ),
    (
        "(?:by )?(?:sex|gender|women|woman|men|man|females?|males?)",
        Missing(f"Sex is not in {{here}}; {_ASK}.", ("sex",)),
    ),
    (
        "(?:by )?(?:(?:college |university |bachelor(?:s)? |advanced )?degrees?|educational attainment|education level|"
        "graduates?|college educated|diplomas?|bachelors?|dropouts?)",
        Missing(f"Education is not in {{here}}; {_ASK}.", ("education",)),
    ),
    (
        "by (?:car|bus|train|bike|bicycle|rail|foot|transit|mode|ferry)|mode(?: of (?:travel|"
        "transport(?:ation)?))?|cars?|bus|buses|"
        "trains?|bik(?:e|es|ing)|bicycles?|(?:public )?transit|carpool(?:s|ing)?|walk(?:s|ing)?|on foot|traffic",
        Missing("How people travel is not in {here}; ask how far, or in which direction."),
    ),
    (
        "minutes?|hours?|(?:travel|commut(?:e|ing)) times?|how long does it take|rush hour|departure times?",
        Missing("Travel times are not in {here}; ask how far people commute."),
    ),
    (
        "telework(?:s|ing|ers?)?|remote(?:ly)?|work(?:s|ing)? (?:from|at) home|home office",
        Missing("Work from home is not in {here}: a job is counted at the employer's place of work."),
    ),
    (
        "occupations?|nurses?|teachers?|doctors?|engineers?|police|drivers?|lawyers?",
        Missing(f"Occupations are not in {{here}}; {_ASK}.", ("occupation",)),
    ),
    (
        "employers?|compan(?:y|ies)|firms?|business(?:es)?",
        Missing(f"Employers are not in {{here}}: jobs are counted by place; {_ASK}."),
    ),
    (
        "rents?|house prices?|housing costs?|home prices?|unemploy(?:ed|ment)|poverty|retirees|retired|"
        "children|veterans?|immigrants?|foreign born|citizens(?:hip)?|disab(?:led|ilit(?:y|ies))|married|single|"
        "parents|mothers|fathers|famil(?:y|ies)|households?|union members?|languages?|religions?",
        Missing(f"That is not in {{here}}: only jobs and the people who hold them are counted; {_ASK}."),
    ),
    (
        "(?:by )?(?:(?:college|university|graduate|working) )?students?",
        Missing(
            "Students are not counted apart: a release counts jobs and the people who hold them. "
            "Ask about workers 29 or younger, or about the jobs at a school."
        ),
    ),
    (
        "(?:student|affordable|public|subsidized) (?:housing|apartments?)|dorms?|dormitor(?:y|ies)|student residences?",
        Missing(
            "Kinds of housing are not in {here}; name a town, a ZIP code, or a landmark, or draw the area."
        ),
    ),
    (
        "forecasts?|predict(?:ion|ions)?|will|next year|future",
        Missing("Releases count past years; nothing is forecast."),
    ),
)


NEAR_MI: Final = 1.0
"""What `near` means without a distance."""

_CHARACTERISTIC: Final = (
    "(?:their )?(?:age|earnings?|wages?|pay|incomes?|salary|salaries|industry|industries|sectors?)"
    "(?: (?:group|band|level|class)(?:s|es)?)?"
)
_COMMUTE: Final = (
    "(?:commut(?:e|es|ed|ing)|travel(?:s|ing)?|com(?:e|es|ing)|go(?:es|ing)?|driv(?:e|es|"
    "ing)|head(?:s|ed|ing)?|cross(?:es|ed|ing)?)"
)

_BACK: Final = "(?:there|here|(?:in|at) (?:them|it))"

_IT: Final = "(?:it|there|here|them)"
"""The place that a sentence has just named: `into Cranston than out of it`."""

_ENDS: Final = (
    (f"(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)) {_BACK}", Verb("home", is_back=True)),
    (f"(?:work(?:s|ed|ing)?|employed) {_BACK}", Verb("work", is_back=True)),
    (f"{_COMMUTE} in to(?: work)?", Verb("work")),
    ("liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|have (?:their|a) homes?|homes", Verb("home")),
    (f"(?:{_COMMUTE} )?(?:in )?from|origins? of|originat(?:e|es|ing)(?: in| from)?", Verb("home")),
    ("work(?:s|ed|ing)?|employed|(?:have|hold|holding|with) (?:a |their )?jobs?", Verb("work")),
    (
        f"{_COMMUTE} (?:out )?(?:to|into)|into|to|(?:(?:{_COMMUTE}|get|gets|getting) )?to work|"
        "(?:send(?:s|ing)?|suppl(?:y|ies|ying)|provid(?:e|es|ing)|los(?:e|es|ing)) (?:the )?"
        "(?:most |many )?(?:workers?|commuters?|people|labor) to",
        Verb("work"),
    ),
    ("residents?|inhabitants?|locals|residential|(?:employed|working) residents?", Noun("home")),
    ("resident (?:workers?|workforce)", Noun("home")),
    ("workers?|employees?|workforce|staff|job ?holders?|labor force|earners?", Noun("work")),
    ("jobs?|employment|positions", Noun("work", is_jobs=True)),
    ("workplaces?|places? of work", Verb("work")),
    ("employ(?:s|ing)?|hir(?:e|es|ing)|commut(?:e|er) ?shed(?: of)?", Opposite("work")),
    ("labor ?shed(?: of)?|workshed(?: of)?|catchment(?: area)?(?: of)?", Opposite("home")),
    ("people|persons?|everyone|everybody|anyone|anybody|folks", People()),
)
_JOINTS: Final = (
    ("and|,|or|plus|as well as|together with", Joint("and")),
    (
        "except(?: for| in)?|without|excluding|but not(?: in)?|other than|outside(?: of)?|minus|not in|leaving out",
        Joint("except"),
    ),
    ("between", Joint("between")),
    ("in|inside|within", Joint("in")),
)
_ANALYSES: Final = (
    (
        "flow matrix|(?:origin destination|o ?d|commut(?:e|ing)) matrix|matrix|origin destination(?: pairs| flows)?|"
        "(?:from )?everywhere to everywhere|all flows|flows between|commuting flows|all pairs",
        Asks("flow-matrix"),
    ),
    (
        "jobs? (?:per|for (?:each|every)) (?:resident )?(?:workers?|residents?)|jobs? (?:housing |"
        "worker )?(?:balance|ratio)|"
        "jobs? to (?:resident )?(?:workers?|residents?|housing)(?: ratio)?|enough jobs|ratio|balance|"
        "ratio of jobs to (?:resident )?(?:workers|residents)|"
        "more jobs than (?:resident )?(?:workers|residents)",
        Asks("job-balance"),
    ),
    (
        "in ?flows?(?: and out ?flows?| out ?flows?)?|out ?flows?(?: and in ?flows?)?|in and out(?: of)?|"
        "into and out of|"
        f"{_COMMUTE} (?:in|into) and (?:{_COMMUTE} )?out(?: of)?|come in and go out|(?:comes?|coming|"
        f"arrives?) and (?:goes?|going|leaves?|leaving)|"
        "(?:enter|enters|entering) and (?:leave|leaves|leaving|exit)|(?:leave|leaves|"
        "leaving)(?: and (?:enter|come|arrive)s?)?|"
        f"net (?:commuters?|commuting|flows?|inflow)|(?:who )?stay(?:s|ing)?(?: put)?|{_COMMUTE} in|"
        f"{_COMMUTE} out(?: of)?|than (?:{_COMMUTE} )?(?:out of|into|from|to) {_IT}|"
        f"than (?:{_COMMUTE} )?(?:out|in)(?: to work)?(?= ?$)|gains? (?:or|and) loses?|"
        "in commuters?|out commuters?|(?:both )?(?:liv(?:e|es|ing) and work(?:s|ing)?|"
        "work(?:s|ing)? and liv(?:e|es|ing))(?: in| there| here)?",
        Asks("inflow-outflow"),
    ),
    (
        "how far(?: away)?|(?:(?:average|mean|median|typical) )?distances?(?: and directions?)?|"
        "(?:average|mean|median|typical) commut(?:e|"
        "ing)(?: distance| length)?|"
        "(?:which|what|in which|in what) (?:way|directions?)|directions?|commut(?:e|ing) (?:distances?|"
        "lengths?|patterns?)|"
        "long (?:distance )?commut(?:e|es|ers|ing)|long distance|how many miles|how long(?: is|"
        " are)?(?: the| their)? commutes?|"
        "length of (?:the |their )?commutes?",
        Asks("distance-direction"),
    ),
    (
        "(?:commut(?:e|es|ing)|travel|drive|go) (?:any |much |a lot )?(?:the )?"
        "(?:farther|further|farthest|furthest|longer|longest|less far|shorter)|"
        "(?:have )?(?:the )?(?:longer|shorter|longest|shortest) commut(?:e|es|ing)",
        Asks("distance-direction", is_comparing=True),
    ),
    (
        "compare|comparison(?: of)?|rank|where are (?:the |most )?jobs|where (?:is|"
        "are) (?:the )?(?:most )?(?:jobs|employment|work)|"
        "most jobs|fewest jobs|job centers?|employment centers?|how do .{0,20}compare|area comparison",
        Asks("comparison"),
    ),
    (
        f"by {_CHARACTERISTIC}(?:(?: ,| and| or| by)+ {_CHARACTERISTIC})*|(?:area )?profile(?: of)?|"
        f"demographics?|characteristics|"
        f"(?:what|which) (?:industries|industry|sectors?|ages?|age groups?)|how old(?: are| is)?|"
        f"how much do|how well paid(?: are)?|"
        f"(?:{_CHARACTERISTIC}) (?:breakdown|distribution|structure|mix|profile)(?: of)?|"
        f"breakdown(?: of)?|what kind of|tell me about",
        Asks("profile"),
    ),
    (
        "who|what (?:do|does)|how many|the number of|number of|counts?(?: of)?|total(?: number of)?",
        Asks("profile", is_weak=True),
    ),
    (
        "home ?towns?|(?:homes|workplaces|(?:home|work|job) (?:places|locations)) of|"
        "destinations?(?: of)?|where (?:they|"
        "people) (?:live|work)",
        Asks("destinations"),
    ),
    ("pairs? of areas|paired areas?", Asks("paired")),
    ("cross ?tab(?:le|ulation)?s?(?: of)?|crosstabs?(?: of)?", Asks("cross-table")),
)
_WHERE: Final = (("where(?: do| does| are| is| did)?(?: most| many)?|from where|to where", Where()),)
_SHOWN: Final = (
    (
        "as (?:flow )?lines|flow lines|(?:as )?(?:a )?desire lines|as flows|with lines|as arrows",
        Shown("lines"),
    ),
    ("as (?:dots|points)|dot map|dot density(?: map)?|as a dot map|points on (?:a|the) map", Shown("points")),
    (
        "(?:as )?(?:a )?heat ?map|heat map|density|as density|density map|as a density map|hot ?spots?",
        Shown("density"),
    ),
    (
        "as areas|choropleth|as a choropleth|shaded(?: areas| map)?|as shaded areas|colored areas",
        Shown("areas"),
    ),
)
_NEAR: Final = (
    ("near(?: to)?|nearby|close to|next to|around|in the vicinity of", Near(0.0, NEAR_MI, is_assumed=True)),
)

_AGES: Final = (
    ("young(?:er)?(?: adults?| people| ones)?|youths?|teen(?:s|agers?)?", Bands("age", (1,))),
    ("youngest", Bands("age", (1,), is_extreme=True)),
    ("middle aged?|prime age|mid career|(?:in )?middle age", Bands("age", (2,))),
    ("older|old|elderly|seniors?|(?:near|close to|approaching) retirement", Bands("age", (3,))),
    ("oldest", Bands("age", (3,), is_extreme=True)),
)
_EARNINGS: Final = (
    (
        "lowest (?:wages?|incomes?|paid|pay|paying|earnings?|earners?|salary)|worst paid|poorest",
        Bands("earnings", (1,), is_extreme=True),
    ),
    (
        "highest (?:wages?|incomes?|paid|pay|paying|earnings?|earners?|salary)|best (?:paid|paying)|richest",
        Bands("earnings", (3,), is_extreme=True),
    ),
    (
        "low(?:er|est)? (?:wages?|incomes?|paid|pay|paying|earnings?|earners?|salary)|poorly paid|"
        "worst paid|cheap labor|poor(?:er|est)?|minimum wage",
        Bands("earnings", (1,)),
    ),
    (
        "(?:middle|mid|medium|moderate) (?:wages?|incomes?|paid|pay|earnings?|earners?|class)",
        Bands("earnings", (2,)),
    ),
    (
        "high(?:er|est)? (?:wages?|incomes?|paid|pay|paying|earnings?|earners?|salary)|(?:well|"
        "best) (?:paid|paying)|rich(?:er|est)?|top earners?",
        Bands("earnings", (3,)),
    ),
)
_PART: Final = "{} is not counted by itself; it is part of “{}”, which is shown."


def _industry(pattern: str, band: int, group: str, name: str = "") -> tuple[str, Meaning]:
    """Return the phrase of an industry; give a `name` if it is only part of the group."""
    pattern = f"(?:in (?:the )?)?(?:{pattern})(?: (?:industry|industries|sectors?))?"
    return pattern, Bands("industry", (band,), _PART.format(name, group) if name else "")


_GOODS, _TRADE, _SERVICES = "Goods producing", "Trade, transportation and utilities", "All other services"
_INDUSTRIES: Final = (
    _industry("goods(?: producing)?|blue collar", 1, _GOODS),
    _industry("manufactur(?:ing|ers?)|factor(?:y|ies)", 1, _GOODS, "Manufacturing"),
    _industry("construction|builders", 1, _GOODS, "Construction"),
    _industry(
        "agricultur(?:e|al)|farm(?:s|ing|ers?)?|mining|forestry|fishing", 1, _GOODS, "Farming or mining"
    ),
    _industry("trade ,? ?(?:and )?transport(?:ation)?(?: ,? ?and utilities)?|trade", 2, _TRADE),
    _industry("retail(?: trade)?|shops?|stores?|wholesale(?: trade)?", 2, _TRADE, "Retail or wholesale"),
    _industry(
        "transportation|transport|logistics|warehous(?:e|es|ing)|trucking|utilities",
        2,
        _TRADE,
        "Transportation",
    ),
    _industry("(?:all )?(?:other )?services?|white collar", 3, _SERVICES),
    _industry("health ?care|health|medical|hospitals?", 3, _SERVICES, "Health care"),
    _industry(
        "education(?:al)?(?: services)?|schools?|universit(?:y|ies)|colleges?", 3, _SERVICES, "Education"
    ),
    _industry("hotels?|restaurants?|food services?|hospitality|tourism|leisure", 3, _SERVICES, "Hospitality"),
    _industry("finance|financial|banks?|banking|insurance|real estate", 3, _SERVICES, "Finance"),
    _industry("government|public (?:administration|sector)", 3, _SERVICES, "Government"),
    _industry(
        "information|tech(?:nology)?|software|professional(?: services)?|office",
        3,
        _SERVICES,
        "That industry",
    ),
)

_EMPTY: Final = (
    "a|an|the|of|at|on|for|is|are|was|were|be|do|does|did|am|that|which|what|whose|those|these|this|"
    "it|its|there|here|"
    "but|anywhere|everywhere|somewhere|their|they|them|theirs|somebody|commuters?|commut(?:e|es|ed|ing)|"
    "i|we|us|you|me|my|our|"
    "show(?: me)?|give(?: me)?|tell(?: me)?|list|find|map(?: of)?|maps|on (?:a|the) map|table(?: of)?|"
    "chart(?: of)?|display|see|know|want(?: to)?|would like(?: to)?|like|please|can|could|"
    "much|many|most|more|fewer|all|every|each|any|some|only|just|also|both|ones?|who (?:are|is)|(?:people|"
    "workers|those|persons|everyone|anyone|commuters|employees) who|"
    "with|by|per|as|than|then|so|has|have|had|get|go|goes|going|com(?:e|es|ing)|travel(?:s|ing)?|make|makes|same|"
    "town of|city of|county of|village of|state of|municipality of|area of|areas? of|city limits|limits|"
    "proper|region|area|areas|place|places|parts? of|whole|entire|"
    "flows?|commuting|trips?|breakdown|divided|split|grouped|broken down|counted|group|groups|aged?|ages|"
    "years? old|year|years|top|largest|biggest|main|major|"
    "home|earn|earning|paid|if|when|how|about|data|numbers?|figures?|share|percent|percentage|over|"
    "using|"
    "industry|industries|sectors?|earnings|wages?|age|"
    "ask(?:s|ed|ing)?|wonder(?:s|ing)?|needs?|wrote|writes?|readers?|pls|thanks?|"
    "thank you|(?:each |every )?day|daily|olds?|put|taken|"
    "held|filled|concentrated|clustered|located|together|combined|pay(?:s|ing)?|heads?|heading|hi|hello|hey|ok"
)


def _compile_phrases(*groups: tuple[tuple[str, Meaning], ...]) -> tuple[tuple[re.Pattern[str], Meaning], ...]:
    return tuple(
        (re.compile(rf"(?:{pattern})(?!\S)"), meaning) for group in groups for pattern, meaning in group
    )


PHRASES: Final = _compile_phrases(
    _ANALYSES,
    _WHERE,
    MISSING,
    _AGES,
    _EARNINGS,
    _INDUSTRIES,
    _SHOWN,
    _NEAR,
    _ENDS,
    _JOINTS,
    (
        (
            "(?:this|the chosen|the selected) (?:town|city|area|place|county|village|neighborhood|region)|here",
            Here(),
        ),
        ("(?:my|our) students?", Empty()),
        (_EMPTY, Empty()),
    ),
)
"""Patterns and meanings; of two that match equally many words, the first counts."""

WORDS: Final = tuple(
    word
    for words in (
        "where workers residents jobs live work commute from between within miles industry earnings profile",
        "compare distance direction inflow outflow matrix average manufacturing retail services transportation",
        "age younger older employees living working county town city tract",
    )
    for word in words.split()
)
"""Words that a misspelled word is compared with."""


def phrase_at(joined: str, position: int) -> tuple[Meaning, int] | None:
    """Return the meaning of the longest phrase that starts at a position of `Sentence.joined`, and where it ends."""
    best: tuple[Meaning, int] | None = None
    for pattern, meaning in PHRASES:
        match = pattern.match(joined, position)
        if match and match.end() > position and (best is None or match.end() > best[1]):
            best = (meaning, match.end())
    return best
