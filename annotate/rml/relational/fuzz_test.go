package relational_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/relational"
)

// quoting is a driver with the quotes of SQL.
func quoting() relational.Driver {
	d := failing()
	d.Quote = func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	return d
}

func FuzzDatabases_Query_url(f *testing.F) {
	f.Add("fail://me:hushhush@host/name?user=a", "u", "p")
	f.Add("jdbc:fail://host:1/name?password=hushhush", "", "hushhush")
	f.Add("fail:%zz", "", "")
	f.Fuzz(func(t *testing.T, text, user, password string) {
		databases := relational.New([]relational.Driver{failing()}, nil)
		named := rml.Database{URL: text, Username: user, Password: rml.Password(password)}
		u, err := relational.Parse(databases, named)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Equal(t, "fail", u.Scheme)
		require.False(t, u.Query().Has("password"), "it is part of the user")
		secret, _ := u.User.Password()
		_, err = databases.Query(t.Context(), rml.Query{Source: rml.Source{Kind: rml.SourceDatabase, Name: "t", Database: named}})
		require.Error(t, err)
		if len(secret) >= 8 && strings.ContainsFunc(secret, func(c rune) bool { return c > ' ' }) {
			require.NotContains(t, err.Error(), secret)
		}
		require.NoError(t, databases.Close())
	})
}

func FuzzUnquote(f *testing.F) {
	f.Add(`"a""b"`)
	f.Add("`x`")
	f.Add("[y]")
	f.Add("plain")
	f.Fuzz(func(t *testing.T, name string) {
		quoted := quoting().Quote(name)
		got, exact := relational.Unquote(quoted)
		require.True(t, exact)
		require.Equal(t, name, got)
		if plain, exact := relational.Unquote(name); !exact {
			require.Equal(t, name, plain)
		}
	})
}

// A table is one token of SQL for each part of its name, whatever a mapping names.
func FuzzFrom(f *testing.F) {
	f.Add(`schema."a table"`)
	f.Add(`t; DROP TABLE t`)
	f.Add("`a`.[b]")
	f.Fuzz(func(t *testing.T, name string) {
		written := relational.From(quoting(), name)
		if written == quoting().Quote(name) {
			return
		}
		require.Equal(t, name, written)
		rest := written
		for rest != "" {
			switch rest[0] {
			case '"', '`', '[':
				end := strings.IndexByte(rest[1:], map[byte]byte{'"': '"', '`': '`', '[': ']'}[rest[0]])
				require.GreaterOrEqual(t, end, 1, name)
				rest = rest[end+2:]
			default:
				end := strings.IndexFunc(rest, func(c rune) bool { return c == '.' })
				if end < 0 {
					end = len(rest)
				}
				require.NotContains(t, rest[:end], " ", name)
				require.False(t, strings.ContainsAny(rest[:end], ";'\"`()[]-/*,\\\n\t"), name)
				rest = rest[end:]
			}
			rest = strings.TrimPrefix(rest, ".")
		}
	})
}
