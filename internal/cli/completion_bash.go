package cli

import (
	"fmt"
	"strings"
)

// bash returns the script for bash 3.2 and newer.
func (p Program) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for bash: source <(%s completion bash)\n", p.Name, p.Name)
	fmt.Fprintf(&b, "%s() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} IFS=$'\\n'\n", p.function())
	b.WriteString("  compopt -o filenames 2>/dev/null\n")
	b.WriteString("  if [ \"$COMP_CWORD\" -gt 1 ]; then\n    case ${COMP_WORDS[1]} in\n")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "    %s)\n", c.Name)
		if c.Name == CompletionWord {
			fmt.Fprintf(&b, "      COMPREPLY=($(compgen -W %s -- \"$word\"))\n", bashWords(Shells()))
		} else {
			bashOptions(&b, "      ", options(c.Flags), nil, c.TakesFiles)
		}
		b.WriteString("      return;;\n")
	}
	b.WriteString("    esac\n  fi\n")
	words := strings.Fields(p.names())
	bashOptions(&b, "  ", options(p.Flags), words, false)
	fmt.Fprintf(&b, "}\ncomplete -F %s %s\n", p.function(), p.Name)
	return b.String()
}

// bashOptions writes what completes the value of the option before, or an option.
func bashOptions(b *strings.Builder, indent string, list []option, words []string, files bool) {
	var names []string
	fmt.Fprintf(b, "%scase $before in\n", indent)
	for _, o := range list {
		names = append(names, "-"+o.name)
		action := ""
		switch o.takes {
		case nothing:
			continue
		case file:
			action = ` COMPREPLY=($(compgen -f -- "$word"));`
		case folder:
			action = ` COMPREPLY=($(compgen -d -- "$word"));`
		case choice:
			action = fmt.Sprintf(` COMPREPLY=($(compgen -W %s -- "$word"));`, bashWords(o.choices))
		case text:
		}
		fmt.Fprintf(b, "%s-%s|--%s)%s return;;\n", indent, o.name, o.name, action)
	}
	fmt.Fprintf(b, "%s*) ;;\n%sesac\n", indent, indent)
	fmt.Fprintf(b, "%sCOMPREPLY=($(compgen -W %s -- \"$word\"))\n", indent, bashWords(names))
	if len(words) > 0 {
		fmt.Fprintf(b, "%s[ \"$COMP_CWORD\" = 1 ] && COMPREPLY+=($(compgen -W %s -- \"$word\"))\n", indent, bashWords(words))
	}
	if files {
		fmt.Fprintf(b, "%scase $word in -*) ;; *) COMPREPLY=($(compgen -f -- \"$word\"));; esac\n", indent)
	}
}

// bashWords returns words as compgen takes them where lines separate fields.
func bashWords(words []string) string { return "$'" + strings.Join(words, `\n`) + "'" }
