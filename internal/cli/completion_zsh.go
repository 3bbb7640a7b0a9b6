package cli

import (
	"fmt"
	"strings"
)

// zsh returns the script for zsh, to be sourced or put into a folder of fpath.
func (p Program) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Completion of %s for zsh: source <(%s completion zsh)\n", p.Name, p.Name, p.Name)
	fmt.Fprintf(&b, "%s() {\n  local -a commands=(\n", p.function())
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "    %s\n", quoted(c.Name+":"+strings.ReplaceAll(c.About, ":", " ")))
	}
	b.WriteString("  )\n  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then _describe command commands; fi\n")
	b.WriteString("  case $words[2] in\n")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "  %s)\n    (( CURRENT > 2 )) || return\n    shift words; (( CURRENT-- ))\n", c.Name)
		rest := ""
		switch {
		case c.Name == CompletionWord:
			rest = quoted("1:shell:(" + strings.Join(Shells(), " ") + ")")
		case c.TakesFiles:
			rest = quoted("*:file:_files")
		}
		zshOptions(&b, "    ", options(c.Flags), rest)
		b.WriteString("    ;;\n")
	}
	b.WriteString("  *)\n")
	zshOptions(&b, "    ", options(p.Flags), "")
	fmt.Fprintf(&b, "    ;;\n  esac\n}\nif [[ $funcstack[1] == %s ]]; then\n  %s \"$@\"\nelse\n  compdef %s %s\nfi\n",
		p.function(), p.function(), p.function(), p.Name)
	return b.String()
}

// zshOptions writes a call of _arguments.
func zshOptions(b *strings.Builder, indent string, list []option, rest string) {
	escape := strings.NewReplacer("[", "(", "]", ")", ":", " ")
	fmt.Fprintf(b, "%s_arguments", indent)
	for _, o := range list {
		spec := "-" + o.name + "[" + escape.Replace(o.about) + "]"
		switch o.takes {
		case nothing:
		case file:
			spec += ":file:_files"
		case folder:
			spec += ":folder:_directories"
		case choice:
			spec += ":" + escape.Replace(o.kind) + ":(" + strings.Join(o.choices, " ") + ")"
		case text:
			spec += ":" + escape.Replace(o.kind) + ":"
		}
		fmt.Fprintf(b, " \\\n%s  %s", indent, quoted(spec))
	}
	if rest != "" {
		fmt.Fprintf(b, " \\\n%s  %s", indent, rest)
	}
	b.WriteString("\n")
}
