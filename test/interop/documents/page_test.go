package documents

import (
	"fmt"
	"iter"
	"strings"
)

// block is a fenced block of a page.
type block struct {
	line     int    // of the opening fence, from 1
	info     string // the text behind the fence: "sh", "sh server", "text"
	text     string
	adjacent bool // only blank lines are between this block and the one before
}

// blocks yields the fenced blocks of a Markdown text in order.
func blocks(markdown string) iter.Seq[block] {
	return func(yield func(block) bool) {
		var open bool
		var b block
		number, between := 0, "text"
		for line := range strings.Lines(markdown) {
			number++
			info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case fence && open:
				if !yield(b) {
					return
				}
				open, between = false, ""
			case fence:
				open, b = true, block{line: number, info: info, adjacent: strings.TrimSpace(between) == ""}
			case open:
				b.text += line
			default:
				between += line
			}
		}
	}
}

// script is the shell script of a page.
type script struct {
	text  strings.Builder
	steps []step
}

// step is the commands of one block, with the lines that their output has to have.
type step struct {
	line     int
	output   string // the file that has it
	expected []string
}

// compile makes the script of a page. Commands that curl reports as refused fail,
// which a reader would see and the shell would not.
func compile(markdown string) (*script, error) {
	s := &script{}
	s.text.WriteString("set -euo pipefail\nip link set lo up\ncurl() { command curl --fail-with-body -sS \"$@\"; }\n")
	var previous block
	for b := range blocks(markdown) {
		switch {
		case b.info == "sh":
			output := fmt.Sprintf("output-%d.log", b.line)
			fmt.Fprintf(&s.text, "echo 'line %d'\n{\n%s} >%s 2>&1 </dev/null\n", b.line, b.text, output)
			s.steps = append(s.steps, step{line: b.line, output: output})
		case b.info == "sh server":
			if strings.Count(b.text, "\n") != 1 {
				return nil, fmt.Errorf("line %d: a server is one command", b.line)
			}
			command, _, _ := strings.Cut(strings.TrimSpace(b.text), "#")
			fmt.Fprintf(&s.text, `echo 'line %[1]d'
(%[2]s >server-%[1]d.log 2>&1 </dev/null &)
tries=0
until grep -qE '^listening on|mosquitto version .* running' server-%[1]d.log; do
	if [ $((tries += 1)) -gt 1800 ]; then
		cat server-%[1]d.log
		exit 1
	fi
	sleep 0.1
done
`, b.line, command)
		case b.info == "text" && b.adjacent && previous.info == "sh":
			last := &s.steps[len(s.steps)-1]
			for line := range strings.Lines(b.text) {
				last.expected = append(last.expected, strings.TrimSpace(line))
			}
		case b.info == "text", b.info == "go":
		case b.info == "sh gate" && strings.HasPrefix(b.text, "go test ./..."):
		default:
			return nil, fmt.Errorf("line %d: a block of %q is not run by any test", b.line, b.info)
		}
		previous = b
	}
	return s, nil
}
