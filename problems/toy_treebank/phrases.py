"""Phrases of nouns, places and times of the toy treebank, as rules.

The module `rules` describes their syntax. The module `clauses` lists the
conventions that decide between several possible trees.
"""

PHRASES = """
person N:
8 [np people N]
1 [modified people N]
1 (NP [np people N] [place])
1 [relative people N]
person sg:
10 (NP (PRP he/she))
12 (NP [name])
1 (NP (NP [name]) (, ,) [occupation] (, ,))
1 (NP (NP [name]) (PRN (-LRB- -LRB-) [occupation] (-RRB- -RRB-)))
1 (NP (NP [name]) (PRN (: --) [occupation] (: --)))
person pl:
8 (NP (PRP they/we))
2 (NP (NP [name]) (CC and) (NP [name]))
1 (NP [np people N] (CC and) [np people N])

pronoun sg: (NP (PRP he/she))
pronoun pl: (NP (PRP they/we/you))

speaker:
1 (NP (PRP he/she/they))
1 (NP [name])

whom:
4 (NP (PRP me/us/him/her/them))
4 (NP [name])
4 [np people N]

occupation:
1 (NP (DT a) [noun jobs sg])
1 (NP (DT the) [noun jobs sg])
1 (NP (DT a) [noun jobs sg] (PP (IN from) (NP [city])))

name:
3 (NNP Anna/Peter/Maria/Paul/Clara/Oscar/Emma/Victor)
1 (NNP Mr.) (NNP Brown/Miller/Smith)
1 (NNP Mrs.) (NNP Green/Taylor/Young)

city:
5 (NNP Paris/London/Vienna/Rome/Berlin)
1 (NNP New) (NNP York)

np G N:
3 (NP [owner] [noun G N])
1 (NP [owner] [adjective G] [noun G N])
np G sg:
26 (NP [det sg] [noun G sg])
7 (NP [det sg] [adjective G] [noun G sg])
1 (NP (DT a) (ADJP (RB very/rather) [adjective G]) [noun G sg])
1 (NP (DT the) (JJS oldest/biggest/smallest) [noun G sg])
np G pl:
20 (NP [det pl] [noun G pl])
6 (NP [det pl] [adjective G] [noun G pl])
2 (NP [adjective G] [noun G pl])
4 (NP (CD two/three/five/twelve) [noun G pl])
1 (NP (QP (JJR more/fewer) (IN than) (CD twenty/100)) [noun G pl])
1 (NP (QP (RB about) (CD 30/200)) [noun G pl])
2 (NP (PDT all) (DT the) [noun G pl])

nps G:
12 [np G N]
2 (NP [np G N] (CC and) [np G N])
1 (NP [np G N] (, ,) [np G N] (CC and) [np G N])
1 (NP [np G N] (CONJP (RB as) (RB well) (IN as)) [np G N])
2 (NP [noun G pl] (CC and) [noun G pl])
1 (NP (DT the) (NX (NX [adjective G] [noun G sg]) (CC and)
  (NX [adjective G] [noun G sg])))

owner:
6 (PRP$ my/his/her/our)
2 (NP [name] (POS 's))
2 (NP (DT the) [noun jobs sg] (POS 's))
1 (NP (PRP$ my/his/her) [noun relatives sg] (POS 's))

det sg:
6 (DT the)
2 (DT a)
1 (DT this/every)
det pl:
3 (DT the)
1 (DT these/some)

modified people N:
2 (NP [np people N] (PP (IN with) [having looks]))
1 (NP [np people N] (PP (IN from) (NP [city])))
modified animals N: (NP [np animals N] (PP (IN with) [having tails]))
modified food N: (NP [np food N] (PP (IN with) (NP [noun toppings sg])))
modified texts N:
2 (NP [np texts N] (PP (IN about) [nps beings]))
2 (NP [np texts N] (PP (IN from) [np relatives N]))
modified gifts N:
1 (NP (NP (DT the) (NN key)) (PP (TO to) [np openings sg]))
1 (NP (NP (DT the) (NN picture)) (PP (IN of) [nps beings]))
1 (NP [np gifts N] (PP (IN for) [np relatives N]))
modified homes N:
1 (NP [np homes N] (PP (IN with) [having parts]))
1 (NP [np homes N] (PP (IN near/behind) [np nature sg]))

having G: (NP (DT a) [adjective G] [noun G sg])

relative people N:
2 (NP [np people N] (SBAR (WHNP (WP who)) (S [simple N P])))
1 (NP [np people N] (SBAR (WHNP (WP whom)) (S [pronoun N]
  (VP [verb meet VBD]))))
1 (NP [np people N] (SBAR (WHPP (IN with/to) (WHNP (WP whom)))
  (S [pronoun N] (VP [verb speak VBD]))))
1 (NP [np people N] (SBAR (WHNP (WP$ whose) [noun animals sg])
  (S [animal sg P])))
relative O N:
2 (NP [np O N] (SBAR (WHNP (WDT that/which)) (S [pronoun N]
  (VP [verb O VBD]))))
1 (NP [np O N] (SBAR (WHNP (WDT that)) (S (NP [name]) (VP [verb O VBD]))))
1 (NP [np O N] (SBAR (S [pronoun N] (VP [verb O VBD]))))
1 (NP [np O N] (VP [verb O VBN] (PP (IN by) [whom])))
relative homes N:
1 (NP [np homes N] (SBAR (WHADVP (WRB where)) (S [pronoun N]
  (VP [verb rest VBD]))))
1 (NP [np homes N] (SBAR (WHPP (IN in) (WHNP (WDT which))) (S [pronoun N]
  (VP [verb rest VBD]))))

place:
4 (PP (IN in) [np rooms sg])
3 (PP (IN in/near) [np outdoors sg])
2 (PP (IN near/behind) [np nature sg])
2 (PP (IN on/under) [np furniture sg])
1 (PP (IN in) [modified homes sg])

company: (PP (IN with) [whom])

manner:
3 (ADVP (RB quietly/slowly/carefully/happily))
1 (ADVP (RB very) (RB quietly/slowly/carefully/happily))

front past:
2 (NP (NN yesterday))
1 (NP (JJ last) (NN week/month/summer))
2 [moment] (, ,)
1 (ADVP (RB then/suddenly)) (, ,)
front present:
1 (NP (NN today)) (, ,)
1 [moment] (, ,)
1 (ADVP (RB perhaps)) (, ,)

when past:
10 ~
1 (NP (NN yesterday/today))
1 (NP (JJ last) (NN week/month/summer))
1 (NP (DT this) (NN morning))
1 (ADVP (NP (CD two/three/ten) (NNS days/weeks/years)) (RB ago))
2 [moment]
when habit:
4 ~
1 (NP (DT every) (NN day/week/summer))
1 [moment]
when now:
2 ~
1 (ADVP (RB now/again))
1 (NP (NN today))
when future:
2 ~
1 (NP (NN tomorrow))
1 (NP (JJ next) (NN week/month/year))
1 (ADVP (RB soon))
when any:
1 ~
1 [moment]

moment:
2 (PP (IN on) (NP (NNP Monday/Friday/Sunday)))
1 (PP (IN on) (NP (NNP May/June) (CD 3/12/25)))
1 (PP (IN in) (NP (NNP April/October)))
1 (PP (IN at) (NP (NN noon/midnight)))
2 (PP (IN after/before/during) (NP (DT the) [noun events sg]))

link:
2 (IN because/although/while)
1 (WHADVP (WRB when))
"""
