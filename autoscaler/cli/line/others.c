/*
 * others.c - what commands of other programs are here: find.c.
 *
 * The nearest spelling of "delete" would be "release", which lets machines go.
 */
#include <string.h>

#include "parse.h"

struct other {
    const char *words, *here; /* each word between two blanks */
};

static const struct other others[] = {
    {" start up serve server daemon ", "`davit run FILE` starts the daemon"},
    {" stop down shutdown kill quit exit ",
     "SIGTERM ends the daemon and no machine; `davit request --owner NAME "
     "--clear` asks for nothing any more, `davit drain NODE` ends a machine"},
    {" clear cancel delete del rm remove terminate destroy end ",
     "`davit request --owner NAME --clear` clears a request, `davit drain NODE` "
     "ends a machine"},
    {" list ls ps get node machines instances ",
     "`davit nodes` lists machines, `davit status` has what is asked for"},
    {" describe show inspect info reason reasons ",
     "`davit why NAME` tells of a node, a node type, an owner or a pod"},
    {" launch create add scale buy provision submit ask requests queue ",
     "`davit request` asks for machines, `davit status` has what is asked for"},
    {" log logs tail watch console history ",
     "`davit events --follow` shows what happens; `davit why NODE` has the "
     "console of a machine that did not join"},
    {" audit who ", "`davit events --kind 'request.*'` says who asked and "
                    "cleared; GET /v1/audit has all changes"},
    {" reload refresh restart ",
     "the daemon reads its file again when it is saved; `davit status` says if "
     "it was refused or is held"},
    {" check lint verify test ",
     "`davit validate FILE` checks a configuration, "
     "`davit doctor FILE` what it needs"},
    {" price prices bill bills billing cost-report spent ",
     "`davit cost` has what is paid, `davit catalogue` has prices of machines"},
    {" dry-run dryrun preview estimate what-if whatif ",
     "`davit request --dry-run` shows what would be bought"},
    {" health ready ping ",
     "`davit status` begins with it; `davit doctor FILE` "
     "checks what the daemon needs"},
    {" pause freeze ", "SIGTERM ends the daemon and no machine; `davit protect "
                       "NODE` keeps one"},
};

const char *cli_other_word(const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; n && i < sizeof others / sizeof *others; i++)
        for (const char *at = others[i].words; (at = strstr(at, word)); at++)
            if (at[-1] == ' ' && at[n] == ' ')
                return others[i].here;
    return NULL;
}
