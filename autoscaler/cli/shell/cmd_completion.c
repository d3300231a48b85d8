/*
 * cmd_completion.c - the shells' completion: a small script for each, which asks
 * `davit __complete` what fits.  Names of nodes, types and owners come from the
 * daemon when it answers at once.
 */
#include <stdio.h>
#include <string.h>

#include "../client.h"
#include "../explain/explain.h"
#include "../line/complete.h"

enum { PATIENCE_MS = 500 };

static struct {
    const char *shell;
    struct cli_list words;
} args;

/* ---- the scripts */

/* Bash divides words at = and : too; what it sees before them is not repeated. */
static const char bash[] =
    "# bash completion of davit; made by `davit completion bash`\n"
    "_davit() {\n"
    "    local words=() i w cur kind line\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        w=${COMP_WORDS[i]}\n"
    "        if ((i > 1)) && [[ $w == [=:]* || ${words[-1]} == *[=:] ]]; then\n"
    "            words[-1]+=$w\n"
    "        else\n"
    "            words+=(\"$w\")\n"
    "        fi\n"
    "    done\n"
    "    cur=${words[-1]}\n"
    "    COMPREPLY=()\n"
    "    kind=\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :file | :folder) kind=$line ;;\n"
    "        *)\n"
    "            line=${line%%$'\\t'*}\n"
    "            if [[ $cur == *[=:]* ]]; then line=${line#\"${cur%[=:]*}\"[=:]}; fi\n"
    "            COMPREPLY+=(\"$(printf %q \"$line\")\")\n"
    "            ;;\n"
    "        esac\n"
    "    done < <(davit __complete -- \"${words[@]}\" 2>/dev/null)\n"
    "    if ((${#COMPREPLY[@]} == 0)); then\n"
    "        case $kind in\n"
    "        :file) compopt -o default ;;\n"
    "        :folder) compopt -o dirnames ;;\n"
    "        esac\n"
    "    elif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == --*= ]]; then\n"
    "        compopt -o nospace\n"
    "    fi\n"
    "}\n"
    "complete -F _davit davit\n";

static const char zsh[] =
    "#compdef davit\n"
    "# zsh completion of davit; made by `davit completion zsh`\n"
    "_davit() {\n"
    "    local line kind\n"
    "    local -a names shown\n"
    "    for line in \"${(@f)$(davit __complete -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "        '') ;;\n"
    "        :file | :folder) kind=$line ;;\n"
    "        *)\n"
    "            names+=(\"${line%%$'\\t'*}\")\n"
    "            shown+=(\"${line/$'\\t'/  -- }\")\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    (( $#names )) && compadd -l -d shown -- \"${names[@]}\"\n"
    "    [[ -n $kind ]] && compset -P '--*='\n"
    "    case $kind in\n"
    "    :file) _files ;;\n"
    "    :folder) _files -/ ;;\n"
    "    esac\n"
    "}\n"
    "if [[ $funcstack[1] == _davit ]]; then _davit \"$@\"; else compdef _davit davit; fi\n";

static const char fish[] =
    "# fish completion of davit; made by `davit completion fish`\n"
    "function __davit_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l lines (davit __complete -- $words[2..-1] 2>/dev/null)\n"
    "    for line in $lines\n"
    "        switch $line\n"
    "            case :file\n"
    "                __fish_complete_path (commandline -ct)\n"
    "            case :folder\n"
    "                __fish_complete_directories (commandline -ct)\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c davit -f -a '(__davit_complete)'\n";

static int script_run(void)
{
    fputs(*args.shell == 'b' ? bash : *args.shell == 'z' ? zsh : fish, stdout);
    return EXIT_OK;
}

/* ---- what fits */

static void print(const char *word, size_t n_before, const char *value,
                  const char *about)
{
    printf("%.*s%s%s%s\n", (int)n_before, word, value, *about ? "\t" : "",
           about);
}

/* The field of each entry of a list that the daemon has. */
static void names_add(const struct completion *c, const char *path,
                      const char *list, const char *field, const char *about)
{
    const json_t *entry;
    struct client client;
    json_t *reply;
    size_t i;

    if (!client_open(&client))
        return;
    client.timeout_ms = PATIENCE_MS;
    if (client_call(&client, "GET", path, NULL, &reply) == EXIT_OK) {
        json_array_foreach(json_object_get(reply, list), i, entry)
            complete_value(c, text_of(entry, field), about);
        json_decref(reply);
    }
    client_done(&client);
}

static void keys_add(const struct completion *c)
{
    struct arena a = {0};
    struct explained_list all = explain_all(&a);

    for (uint32_t i = 0; i < all.n; i++)
        complete_value(c, all.v[i].key, all.v[i].meaning);
    arena_done(&a);
}

static int complete_run(void)
{
    struct completion c = {.add = print};

    complete((int)args.words.n, args.words.v, &c);
    switch (c.takes) {
    case TAKES_TEXT: break;
    case TAKES_FILE: puts(":file"); break;
    case TAKES_FOLDER: puts(":folder"); break;
    case TAKES_TYPE: names_add(&c, "/v1/status", "types", "name", ""); break;
    case TAKES_NODE: names_add(&c, "/v1/nodes", "nodes", "id", ""); break;
    case TAKES_OWNER:
        names_add(&c, "/v1/request_resources", "requests", "owner", "");
        break;
    case TAKES_KEY: keys_add(&c); break;
    case TAKES_SUBJECT:
        names_add(&c, "/v1/nodes", "nodes", "id", "a node");
        names_add(&c, "/v1/request_resources", "requests", "owner", "an owner");
        break;
    }
    return EXIT_OK;
}

/* ---- the commands */

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const struct cli_option shell_word[] = {
    {"SHELL", .text = &args.shell, .choices = shells,
     .help = "bash, zsh or fish"},
    {0}};

const struct cli_command cli_completion = {
    .name = "completion",
    .help = "prints the script that completes davit's words in a shell",
    .words = shell_word,
    .run = script_run,
    .details =
        "A package installs it; else, once:\n\n"
        "  davit completion bash > ~/.local/share/bash-completion/completions/davit\n"
        "  davit completion zsh > ~/.zfunc/_davit     (with ~/.zfunc in fpath)\n"
        "  davit completion fish > ~/.config/fish/completions/davit.fish\n"};

static const struct cli_option typed_words[] = {
    {"WORD", .many = &args.words, .optional = true,
     .help = "what is typed behind davit, the last one unfinished"},
    {0}};

const struct cli_command cli_complete = {
    .name = "__complete",
    .help = "what may stand in the place of the last word, for shells",
    .common = client_options,
    .words = typed_words,
    .run = complete_run};
