package interop_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/annotate/sparql"
)

const graphs = "https://example.org/graphs/"

// What the driver writes is in real stores as it was sent.
func TestSPARQL_writesWhatRealStoresHaveAfterwards(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *store{"Oxigraph": startOxigraph, "Fuseki": startFuseki} {
		t.Run(name, func(t *testing.T) {
			store := start(t)
			for _, protocol := range []string{sparql.Update, sparql.GraphStore} {
				t.Run(protocol, func(t *testing.T) {
					store := *store
					store.t = t
					t.Run("terms", func(t *testing.T) { keepsTerms(t, &store, protocol) })
					t.Run("again", func(t *testing.T) { replacesWhatIsWrittenAgain(t, &store, protocol) })
					t.Run("many", func(t *testing.T) { writesMany(t, &store, protocol) })
					if name != "Fuseki" { // which takes the IRI, with a warning
						t.Run("refused", func(t *testing.T) { refusesOneMessage(t, &store, protocol) })
					}
				})
			}
		})
	}
}

// write publishes messages and returns what each was confirmed with.
func write(t *testing.T, s *store, protocol string, messages ...annotate.Message) []error {
	t.Helper()
	publisher, err := sparql.New(nil).Connect(t.Context(), annotate.Topic{
		Name: graphs, Broker: sparql.Type, Settings: sparql.Settings{Protocol: protocol, URL: s.endpoint(protocol)},
	}, annotate.ConnectOptions{})
	require.NoError(t, err)
	var mu sync.Mutex
	outcomes := make([]error, len(messages))
	confirmed := 0
	for i, m := range messages {
		require.NoError(t, publisher.Publish(t.Context(), m, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[i] = err
			confirmed++
		}))
	}
	require.NoError(t, publisher.Close(t.Context()))
	require.Equal(t, len(messages), confirmed)
	return outcomes
}

// has requires that the graph of a message has the statements of a document.
func (s *store) has(id, document string) {
	s.t.Helper()
	got := s.ask("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <"+graphs+id+"> { ?s ?p ?o } }", "application/n-triples")
	require.Empty(s.t, rdftest.Diff(parse(s.t, []byte(got)), parse(s.t, []byte(document))))
}

// keepsTerms writes what is easily lost: escapes, characters that end something elsewhere,
// language tags, datatypes, and labels of blank nodes that two messages share.
func keepsTerms(t *testing.T, s *store, protocol string) {
	s.t = t
	const line = "<https://e/s%20%C3%BC?q=1&r=(2)#ü> <https://e/p> %s .\n"
	var terms []string
	for i := range 0x80 {
		if i != '"' && i != '\\' && i != '\n' && i != '\r' && i != 0 {
			terms = append(terms, `"`+string(rune(i))+`"`)
		}
	}
	terms = append(terms, `""`, `"\""`, `"\\"`, `"\n"`, `"\r"`, `"\r\n"`, `"\t"`, `"\b\f"`, `"\\u0041"`, `"\\\\u0041"`, `"\\U00000041"`,
		`"\\\\\\u0041\\"`, `"\\n"`, `"} ; DROP ALL ; INSERT DATA { <a:a> <a:b> <a:c> "`, `"'''\"\"\""`, `"$x ?y _:z @en ^^ <>"`, `"# no comment"`,
		`"üñ€𝄞\uFFFD\u200B\u0085\u00A0\u2028"`, `"\uE000\uFDD0"`, `"Bonjour"@fr`,
		`"colour"@en-GB`, `"字"@zh-Hant-TW`, `"x"@x-private`,
		`"21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>`, `"21"^^<http://www.w3.org/2001/XMLSchema#integer>`,
		`"2026-11-24T01:02:03Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>`, `"true"^^<http://www.w3.org/2001/XMLSchema#boolean>`,
		`"21.5"^^<http://www.w3.org/2001/XMLSchema#double>`, `"no number"^^<http://www.w3.org/2001/XMLSchema#integer>`,
		`"POINT(1 2)"^^<http://www.opengis.net/ont/geosparql#wktLiteral>`, `"a\\b"^^<urn:x:y>`, `<urn:uuid:0>`, `<mailto:a@b.c>`,
		`<https://e/%7B%20%7D>`)
	var document strings.Builder
	for _, term := range terms {
		document.WriteString(strings.Replace(line, "%s .", term+" .", 1))
	}
	document.WriteString("_:x <https://e/p> _:y .\n_:y <https://e/p> _:x .\n_:x <https://e/q> \"1\" .\n")
	other := "_:x <https://e/p> _:y .\n_:y <https://e/q> \"2\" .\n"
	for i, err := range write(t, s, protocol, annotate.Message{ID: "terms", Payload: []byte(document.String())},
		annotate.Message{ID: "other", Payload: []byte(other)}) {
		require.NoError(t, err, i)
	}
	s.has("terms", document.String())
	s.has("other", other)
}

// replacesWhatIsWrittenAgain writes a message twice, in one request and in two, and then a
// message without statements.
func replacesWhatIsWrittenAgain(t *testing.T, s *store, protocol string) {
	s.t = t
	const first, second = "_:x <https://e/p> \"1\" .\n", "_:x <https://e/p> \"2\" .\n_:x <https://e/p> \"3\" .\n"
	message := func(id, document string) annotate.Message { return annotate.Message{ID: id, Payload: []byte(document)} }
	for i, err := range write(t, s, protocol, message("again", first), message("again", first), message("again", second),
		message("gone", first), message("never", "")) {
		require.NoError(t, err, i)
	}
	s.has("again", second)
	s.has("gone", first)
	for i, err := range write(t, s, protocol, message("again", second), message("gone", "")) {
		require.NoError(t, err, i)
	}
	s.has("again", second)
	s.has("gone", "")
	s.has("never", "")
	require.Zero(t, s.count("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"), "the default graph")
}

// writesMany writes more messages than one request has, some of them large.
func writesMany(t *testing.T, s *store, protocol string) {
	s.t = t
	const n = 1000
	messages := make([]annotate.Message, n)
	for i := range messages {
		value := fmt.Sprint(i)
		if i%100 == 0 {
			value += strings.Repeat("0", 200_000)
		}
		messages[i] = annotate.Message{
			ID:      fmt.Sprint("many-", i),
			Payload: fmt.Appendf(nil, "<https://e/%s-%d> <https://e/n> \"%s\" .\n", protocol, i, value),
		}
	}
	for i, err := range write(t, s, protocol, messages...) {
		require.NoError(t, err, i)
	}
	require.Equal(t, n, s.count(`SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s <https://e/n> ?o
		FILTER(STRSTARTS(STR(?s), "https://e/`+protocol+`-")) } }`))
}

// refusesOneMessage writes a message that the store refuses among others that it takes.
func refusesOneMessage(t *testing.T, s *store, protocol string) {
	s.t = t
	messages := make([]annotate.Message, 40)
	document := func(i int) string {
		if i == 17 {
			return "<https://[/> <https://e/p> \"1\" .\n"
		}
		return fmt.Sprintf("<https://e/%d> <https://e/p> \"1\" .\n", i)
	}
	for i := range messages {
		messages[i] = annotate.Message{ID: fmt.Sprint("refused-", i), Payload: []byte(document(i))}
	}
	outcomes := write(t, s, protocol, messages...)
	for i, err := range outcomes {
		if i == 17 {
			require.ErrorContains(t, err, "refused by the store: the store answered 400 Bad Request: ")
			continue
		}
		require.NoError(t, err, i)
		s.has(fmt.Sprint("refused-", i), document(i))
	}
}
