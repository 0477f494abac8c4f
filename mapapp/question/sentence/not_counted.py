"""Phrases for what people ask for and publications do not count, and what can be asked instead."""

from __future__ import annotations

from typing import Final

from mapapp.question.sentence.meanings import Missing

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
