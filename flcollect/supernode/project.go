package supernode

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// readProject returns what a pyproject.toml says of the app: `publisher` of
// [tool.flwr.app], `name` and `version` of [project]. It reads what `flwr build` writes:
// tables, one value a line, and text in quotes; values that it does not need may be of any
// kind.
func readProject(file []byte) (id, version string, err error) {
	if !utf8.Valid(file) {
		return "", "", fmt.Errorf("%s is not UTF-8", projectFile)
	}
	found := map[string]string{}
	table := ""
	scan := tomlScanner{rest: string(file)}
	for scan.rest != "" {
		line := scan.line()
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			table = tableName(trimmed)
			continue
		}
		key, value, ok := strings.Cut(trimmed, "=")
		if !ok || strings.HasPrefix(trimmed, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		scan.skip(value)
		name := table + "." + tomlKey(key)
		switch name {
		case "project.name", "project.version", "tool.flwr.app.publisher":
			text, err := tomlText(value)
			if err != nil {
				return "", "", fmt.Errorf("%s: %s: %w", projectFile, name, err)
			}
			found[name] = text
		}
	}
	for _, name := range []string{"project.name", "project.version", "tool.flwr.app.publisher"} {
		if !safeName().MatchString(found[name]) {
			return "", "", fmt.Errorf("%s: %s is %.60q, expected letters, digits, dots, hyphens and underscores", projectFile, name, found[name])
		}
	}
	return found["tool.flwr.app.publisher"] + "/" + found["project.name"], found["project.version"], nil
}

// safeName matches what Flower uses as a part of a folder's name.
func safeName() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+!-]{0,127}$`) }

// tomlScanner reads a file by lines.
type tomlScanner struct{ rest string }

// line returns the next line.
func (s *tomlScanner) line() string {
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	return strings.TrimSuffix(line, "\r")
}

// skip reads the further lines of a value that begins so: text in three quotes, an array
// or a table.
func (s *tomlScanner) skip(value string) {
	var depth int
	quote := ""
	for {
		depth, quote = tomlState(value, depth, quote)
		if depth <= 0 && len(quote) != 3 || s.rest == "" {
			return
		}
		value = s.line()
	}
}

// tomlState returns how many brackets are open at the end of a line, and the quotes of the
// text that goes on behind it.
func tomlState(line string, depth int, quote string) (int, string) {
	for line != "" {
		switch {
		case quote != "":
			if line[0] == '\\' && quote[0] == '"' {
				line = line[min(2, len(line)):]
				continue
			}
			if strings.HasPrefix(line, quote) {
				line, quote = line[len(quote):], ""
				continue
			}
		case strings.HasPrefix(line, `"""`), strings.HasPrefix(line, "'''"):
			line, quote = line[3:], line[:3]
			continue
		case line[0] == '"', line[0] == '\'':
			quote = line[:1]
		case line[0] == '#':
			return depth, ""
		case line[0] == '[', line[0] == '{':
			depth++
		case line[0] == ']', line[0] == '}':
			depth--
		}
		line = line[1:]
	}
	if len(quote) == 1 { // it ends with the line
		quote = ""
	}
	return depth, quote
}

// tableName returns the name of a table, empty for an array of tables.
func tableName(header string) string {
	if strings.HasPrefix(header, "[[") {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(header, "["), "]")
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = tomlKey(part)
	}
	return strings.Join(parts, ".")
}

func tomlKey(key string) string { return strings.Trim(strings.TrimSpace(key), `"'`) }

// tomlText returns text in single or double quotes, without escapes.
func tomlText(value string) (string, error) {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return "", errors.New("it is not text in quotes")
	}
	text, rest, ok := strings.Cut(value[1:], value[:1])
	if rest = strings.TrimSpace(rest); !ok || rest != "" && rest[0] != '#' {
		return "", errors.New("it is not text in quotes")
	}
	return text, nil
}
