"""Words that hold sentences together and say nothing about their subject, in the languages feeds come in."""

_ENGLISH = """
a about above after again against all also am an and any are as at be because been before being below between
both but by can could did do does doing don down during each even ever every few first for from further get
gets go goes going got had has have having he her here hers herself him himself his how however if in into is
it its itself just last like made make many may me might more most much must my myself new no nor not now of
off on once one only or other our ours ourselves out over own per said same say says she should since so some
still such than that the their theirs them themselves then there these they this those through to too two
under until up upon us use used very via was we well were what when where whether which while who whom whose
why will with within without would yet you your yours yourself
"""
_GERMAN = """
ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei
beim bereits bin bis bist da dabei dadurch dafür dagegen damit danach dann daran darauf darf darum das dass
davon dazu dein deine dem den denen denn der deren des dessen deshalb die dies diese diesem diesen dieser
dieses doch dort du durch dürfen ein eine einem einen einer eines einige er erst es etwa etwas euch euer für
gab ganz gar gegen gegenüber gewesen gibt habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr
ihre ihrem ihren ihrer ihres im immer in indem ins ist ja je jede jedem jeden jeder jedes jedoch jene jetzt
kann kein keine keinem keinen keiner können könnte könnten laut machen man manche mehr mein meine mit muss
müssen nach nachdem neben nicht nichts noch nun nur ob obwohl oder ohne schon sehr sei seien sein seine seinem
seinen seiner seines seit selbst sich sie sind so sogar solche soll sollen sollte sondern sonst sowie über um
und uns unser unsere unter viel viele vom von vor war wäre waren warum was weil weiter welche welcher wenn wer
werde werden wessen wie wieder will wir wird wo wollen worden wurde wurden würde würden zu zum zur zwar
zwischen
"""
_FRENCH = """
à au aux avec ce ces cet cette comme dans de des du elle elles en est et été être il ils je la le les leur
leurs lui mais même ne nous on ont ou où par pas plus pour qu que qui sa sans se ses si son sont sous sur tous
tout très un une vous
"""
_SPANISH = """
al como con contra cuando de del desde donde el ella ellos en entre era es esta este esto está están fue ha
han hasta hay la las le les lo los más me muy no nos para pero por porque que se ser si sin sobre son su sus
también un una uno y ya
"""
_ITALIAN = """
agli al alla alle anche che chi ci col come con contro cui da dal dalla dalle degli dei del della delle di e è
ed era gli ha hanno il in io la le lei li lo loro lui ma nei nel nella nelle non o per più quando quella
quello questa questo se si sono su sua sue sul sulla suo tra un una uno
"""
_DUTCH = """
aan al als bij dan dat de deze die dit door een en er had heb hebben heeft het hij hoe hun ik in is je kan
maar meer met mijn na naar niet nog of om ook op over te tot uit van veel voor waar was wat we werd wie wij
worden wordt zal ze zei zich zijn zo zou
"""

FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH} {_ITALIAN} {_DUTCH}".split())
