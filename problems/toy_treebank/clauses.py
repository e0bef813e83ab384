"""Sentences, clauses and predicates of the toy treebank, as rules.

The module `rules` describes their syntax. Labels and tags follow the guidelines
of the Penn Treebank. Where several trees make sense, a convention decides:

- "in", "near" and similar prepositions belong to the object of a verb of
  liking or having ("[likes] [the house near the lake]"), and otherwise to the
  verb ("[met] [a friend] [in the park]").
- "with" a tool or a person belongs to the verb, "with" a part to the noun.
- "from" and "for" belong to the verb after "buy" and "borrow", and otherwise
  to the noun.
- A time belongs to the verb.
- If two words are still possible, the nearer one is right.
"""

CLAUSES = """
sentence:
48 (S [clause P] (. .))
5 (S [front P] [clause P] (. .))
16 (S [person N] [complex N] (. .))
3 (S [np O N] (VP [be N past] (VP [verb O VBN] (PP (IN by) [whom]))) (. .))
2 (S (NP (EX there)) (VP (VBZ is) (NP (NP (DT a) [noun animals sg]) [place]))
  (. .))
2 (S (NP (EX there)) (VP (VBD were) (NP [np people pl] [place])) (. .))
3 (S (SBAR [link] (S [clause P])) (, ,) [clause P] (. .))
5 (S [person N] (VP [do VBD] (SBAR [link] (S [clause past]))) (. .))
2 (S (S [clause P]) (CC and) (S [clause P]) (. .))
1 (S (S [clause P]) (, ,) (CC but) (S [clause P]) (. .))
1 (S (S [clause P]) (: ;) (S [clause P]) (. .))
3 (S [person N] (VP (VP [do VBD]) (CC and) (VP [do VBD] [when past])) (. .))
2 (S (S (VP [do VBG])) (, ,) [person N] (VP [do VBD]) (. .))
3 (S (`` ``) (S [clause P]) (, ,) ('' '') [speaker] (VP [said]) (. .))
2 (SINV (`` ``) (S [clause P]) (, ,) ('' '') (VP [said]) [np people N] (. .))
1 (SINV (`` ``) (SQ [polar] (. ?)) ('' '') (VP (VBD asked)) [np people N]
  (. .))
1 (S [np people N] (PRN (, ,) (S [speaker] (VP [said])) (, ,)) [simple N P]
  (. .))
2 (SINV [place] (VP [verb stand VBD]) [np beings N] (. .))
6 (SQ [polar] (. ?))
8 (SBARQ [open-question] (. ?))
4 (S (VP [do VB]) [stop])
1 (S (INTJ (UH please)) (, ,) (VP (VB do) (RB n't) (VP [do VB])) [stop])
2 (S (INTJ (UH oh/well/yes/no)) (, ,) [clause P] [stop])
3 (S [money] (. .))

stop:
2 (. .)
1 (. !)

clause P:
12 [person N] [simple N P]
2 [np animals N] [animal N P]
2 [np goods N] [quality goods N P]
1 [modified homes N] [quality homes N P]
1 [pronoun N] [simple N P]
clause past:
3 (NP (PRP I)) (VP [do VBD] [when past])
2 [person N] (ADVP (RB never/often/always)) (VP [do VBD])
clause present:
1 (NP (PRP I)) (VP (MD 'll) (VP [do VB] [when future]))
1 (NP (PRP I)) (VP (MD can/must) (VP [do VB]))
1 (NP (PRP he/she)) (VP (VBZ 's) (VP [do VBG]))
1 [person sg] (ADVP (RB never/often/always)) (VP [do VBZ])
1 [person pl] (ADVP (RB never/often/always)) (VP [do VBP])

simple N past:
8 (VP [do VBD] [when past])
3 (VP [do VBD] [manner] [when past])
3 (VP [like VBD])
2 (VP (VBD did) (RB n't) (VP [do VB] [when past]))
1 (VP (VBD had) (VP [do VBN]))
2 (VP [be N past] (VP [do VBG] [when past]))
2 [quality people N past]
1 [role N past]
simple N present:
2 (VP (MD will) (VP [do VB] [when future]))
1 (VP (MD wo) (RB n't) (VP [do VB]))
2 (VP (MD can/must/should) (VP [do VB]))
2 (VP [be N present] (VP [do VBG] [when now]))
2 [quality people N present]
1 [role N present]
simple sg present:
2 (VP [do VBZ] [when habit])
2 (VP [like VBZ])
1 (VP (VBZ does) (RB n't) (VP [like VB]))
1 (VP (VBZ has) (VP [do VBN]))
simple pl present:
2 (VP [do VBP] [when habit])
2 (VP [like VBP])
1 (VP (VBP do) (RB n't) (VP [like VB]))
1 (VP (VBP have) (VP [do VBN]))

complex N:
3 [report VBD]
4 [busy VBD]
1 (VP (MD will) [busy VB])
complex sg:
1 [report VBZ]
1 (VP (VBZ is) [busy VBG])
complex pl:
1 [report VBP]
1 (VP (VBP are) [busy VBG])

report F:
2 (VP [verb say F] (SBAR (IN that) (S [clause P])))
2 (VP [verb say F] (SBAR (S [clause P])))
2 (VP [verb wonder F] (SBAR (IN whether/if) (S [clause P])))
1 (VP [verb wonder F] (SBAR (WHNP (WP who)) (S [simple sg past])))
1 (VP [verb wonder F] (SBAR (WHNP (WP what)) (S [person N]
  (VP [verb O VBD]))))
1 (VP [verb wonder F] (SBAR (WHADVP (WRB why/where)) (S [person N]
  (VP [do VBD]))))
2 (VP [verb try F] (S (VP (TO to) (VP [do VB] [when any]))))
2 (VP [verb tell F] [whom] (S (VP (TO to) (VP [do VB]))))
2 (VP [verb expect F] (S [whom] (VP (TO to) (VP [do VB]))))
2 (VP [verb like F] [relative O N])
1 (VP [verb own F] (NP (DT a) (NN plan/chance) (S (VP (TO to)
  (VP [do VB])))))

busy F:
2 (VP [verb enjoy F] (S (VP [do VBG])))
2 (VP [do F] (S (VP (TO to) (VP [do VB]))))
2 (VP [do F] (PP (IN without/before/after) (S (VP [do VBG]))))
3 (VP [verb meet F] [relative people N])
2 (VP [verb O F] [relative O N])
1 (VP [verb go F] (PP (TO to) [relative homes N]))

do F:
2 [verb openings F] [np openings N]
2 [verb openings F] [np openings N] (PP (IN with) (NP [det sg] (NN key)))
2 [verb clothes F] [np clothes N]
1 [verb dishes F] [nps dishes] (PP (IN in) [np rooms sg])
2 [verb food F] [nps food]
2 [verb food F] [np food N] (PP (IN with) [np cutlery sg])
2 [verb food F] (NP [np food N] (PP (IN with) (NP [noun toppings sg])))
2 [verb food F] [np food N] [company]
2 [verb drinks F] (NP (NP (DT a) (NN glass/cup)) (PP (IN of)
  (NP [noun drinks sg])))
1 [verb drinks F] [np drinks sg] [company]
3 [verb texts F] [modified texts N]
3 [verb meet F] [whom]
1 [verb meet F] [modified people N]
4 [verb meet F] [np people N] [place]
2 [verb watch F] [np beings N] (PP (IN with) [np glasses sg])
2 [verb watch F] [modified animals N]
2 [verb watch F] [modified people N]
2 [verb give F] [whom] [np gifts N]
2 [verb give F] [nps gifts] (PP (TO to) [whom])
3 [verb hide F] [nps luggage] (PP (IN on/under/behind) [np furniture sg])
1 [verb buy F] [nps goods]
2 [verb buy F] [np goods N] (PP (IN from/for) [whom])
2 [verb machines F] [np vehicles N] (PP (IN with) [np tools sg])
1 [verb machines F] [np machines N]
3 [verb go F] (PP (IN into/to) [np places sg])
3 [verb rest F]
4 [verb rest F] [place]
1 [verb rest F] [company]
3 [verb wait F] (PP (IN for) [whom])
2 [verb talk F] (PP (IN about) [nps beings])
3 [verb speak F] [company]
2 [verb pick F] (PRT (RP up)) [np gifts N]
1 [verb pick F] [np gifts N] (PRT (RP up))
1 [verb turn F] (PRT (RP on/off)) [np machines N]
1 [verb turn F] (NP (PRP it/them)) (PRT (RP on/off))

like F:
3 [verb like F] [modified M N]
2 [verb like F] (NP [np beings N] [place])
2 [verb like F] (NP [np homes N] [place])
2 [verb like F] [whom]
2 [verb own F] [modified gifts N]
2 [verb own F] (NP [np goods N] [place])
1 [verb own F] [nps goods]

animal N past:
2 (VP [verb jump VBD] [place])
2 (VP [verb follow VBD] [np beings N] [when past])
1 (VP [be N past] (VP [verb jump VBG] [manner]))
1 [quality animals N past]
animal N present:
2 (VP (MD can/will) (VP [verb jump VB] [place]))
1 (VP [be N present] (VP [verb jump VBG] [place]))
1 [quality animals N present]

quality G N P:
6 (VP [be N P] (ADJP [adjective G]))
3 (VP [be N P] (ADJP (RB very/too/rather) [adjective G]))
2 (VP [be N P] (RB not) (ADJP [adjective G]))
1 (VP [be N P] (ADJP [adjective G] (CC and) [adjective G]))
1 (VP [be N P] (ADJP (JJR older/bigger/smaller) (PP (IN than) [np G N])))
1 (VP [be N P] (ADJP (RB as) [adjective G] (PP (IN as) [np G N])))
quality goods N P:
2 (VP [be N P] (ADJP (JJ easy/hard) (S (VP (TO to) (VP [verb buy VB])))))

role N P:
1 (VP [be N P] [place])
role sg P:
2 (VP [be sg P] (NP (DT a) [noun jobs sg]))
1 (VP [seem P] (ADJP [adjective people]))
1 (VP [be sg P] (UCP (ADJP [adjective people]) (CC and) (PP (IN in)
  (NP (NN love)))))
role pl P:
2 (VP [be pl P] (NP [noun jobs pl]))

seem past: (VBD seemed/looked)
seem present: (VBZ seems/looks)
be sg past: (VBD was)
be pl past: (VBD were)
be sg present: (VBZ is)
be pl present: (VBP are)
said: (VBD said/answered/whispered)

polar:
2 (VBD did) [person N] (VP [do VB] [when past])
2 (MD can/will) [person N] (VP [do VB])
1 (VBD did) [person N] (VP [like VB])
1 (VBZ does) [person sg] (VP [like VB])
1 (VBP do) (NP (PRP you)) (VP [like VB])
1 (VBZ is) [np goods sg] (ADJP [adjective goods])
1 (VBP are) [np animals pl] (ADJP (RB very) [adjective animals])

open-question:
2 (WHNP (WP who)) (SQ (VP [do VBD] [when past]))
2 (WHNP (WP what)) [asked O]
2 (WHNP (WDT which) [noun O N]) [asked O]
1 (WHNP (WP$ whose) [noun O N]) [asked O]
1 (WHNP (WHADJP (WRB how) (JJ many)) [noun O pl]) [asked O]
3 (WHADVP (WRB why/where/when)) (SQ (VBD did) [person N] (VP [do VB]))
1 (WHPP (IN with/about) (WHNP (WP whom))) (SQ (VBD did) [person N]
  (VP [verb speak VB]))
1 (WHADJP (WRB how) (JJ old/expensive/big)) (SQ (VBZ is) [np goods sg])

asked O: (SQ (VBD did) [person N] (VP [verb O VB]))

money:
2 [person N] (VP [verb buy VBD] [np goods N] (PP (IN for) (NP [dollars])))
1 [price] (VP [verb fall VBD] (NP (CD 3/12/20) (NN %)))
1 [price] (VP [verb fall VBD] (PP (TO to) (NP [dollars])))

price: (NP (NP (DT the) (NN price)) (PP (IN of) [np goods sg]))

dollars:
2 ($ $) (CD 20/50/1,000)
1 (QP ($ $) (CD 3) (CD million))
1 (QP (IN about) ($ $) (CD 200))
"""
