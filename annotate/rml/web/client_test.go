package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/web"
)

const prefixes = `@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix new: <http://w3id.org/rml/> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix formats: <http://www.w3.org/ns/formats/> .
@prefix td: <https://www.w3.org/2019/wot/td#> .
@prefix hctl: <https://www.w3.org/2019/wot/hypermedia#> .
@prefix wotsec: <https://www.w3.org/2019/wot/security#> .
@prefix htv: <http://www.w3.org/2011/http#> .
@prefix ex: <http://example.org/> .
@base <http://example.org/mapping/> .
`

// mapWith maps with a client and returns the statements as N-Quads.
func mapWith(t *testing.T, client *web.Client, mapping string) (string, error) {
	t.Helper()
	loaded, err := rml.Load([]byte(prefixes+mapping), nil)
	require.NoError(t, err)
	plan, err := rml.Compile(loaded, &rml.Options{Format: rdf.NQuads})
	require.NoError(t, err)
	files := rml.LocalFiles(t.TempDir(), nil)
	if client != nil {
		files.Fetch = client.Fetch
	}
	var out bytes.Buffer
	err = plan.NewMapper().Run(t.Context(), &out, files)
	return out.String(), err
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func newClient(t *testing.T, opts *web.Options) *web.Client {
	t.Helper()
	client, err := web.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

const people = "<http://example.org/p/1> <http://example.org/name> \"Ann, \\\"A\\\"\" .\n" +
	"<http://example.org/p/2> <http://example.org/name> \"Bo\" .\n"

// endpoint answers any query with two people, in the format that the client accepts.
func endpoint(t *testing.T) string {
	answers := map[string]string{
		"text/csv":                  "p,name\r\nhttp://example.org/p/1,\"Ann, \"\"A\"\"\"\r\nhttp://example.org/p/2,Bo\r\n",
		"text/tab-separated-values": "?p\t?name\n<http://example.org/p/1>\t\"Ann, \\\"A\\\"\"@en\n<http://example.org/p/2>\t'Bo'\n",
		"application/sparql-results+json": `{"head":{"vars":["p","name"]},"results":{"bindings":[
			{"p":{"type":"uri","value":"http://example.org/p/1"},"name":{"type":"literal","value":"Ann, \"A\""}},
			{"p":{"type":"uri","value":"http://example.org/p/2"},"name":{"type":"literal","value":"Bo"}}]}}`,
		"application/sparql-results+xml": `<sparql xmlns="http://www.w3.org/2005/sparql-results#"><results>
			<result><binding name="p"><uri>http://example.org/p/1</uri></binding>
				<binding name="name"><literal>Ann, "A"</literal></binding></result>
			<result><binding name="p"><uri>http://example.org/p/2</uri></binding>
				<binding name="name"><literal>Bo</literal></binding></result>
			</results></sparql>`,
	}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := answers[r.Header.Get("Accept")]
		if r.Method != http.MethodPost || r.URL.RawQuery != "" || !strings.Contains(r.PostFormValue("query"), "SELECT ?p ?name") || body == "" {
			http.Error(w, "not as expected", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Accept")+"; charset=utf-8")
		_, _ = io.WriteString(w, body)
	})
}

func TestClient_Fetch_readsEachFormatOfAnEndpoint(t *testing.T) {
	at := endpoint(t)
	for name, source := range map[string]string{
		"legacy CSV":   `rml:query "SELECT ?p ?name {}"; rml:referenceFormulation ql:CSV`,
		"legacy JSON":  `rml:query "SELECT ?p ?name {}"; rml:referenceFormulation ql:JSONPath; rml:iterator "$.results.bindings[*]"`,
		"without any":  `rml:query "SELECT ?p ?name {}"; rml:referenceFormulation ql:SPARQL`,
		"no iterator":  `rml:query "SELECT ?p ?name {}"; rml:referenceFormulation ql:JSONPath`,
		"legacy XPath": `rml:query "SELECT ?p ?name {}"; rml:referenceFormulation ql:XPath`,
		"new CSV":      `new:iterator "SELECT ?p ?name {}"; new:referenceFormulation formats:SPARQL_Results_CSV`,
		"new TSV":      `new:iterator "SELECT ?p ?name {}"; new:referenceFormulation formats:SPARQL_Results_TSV`,
		"new JSON":     `new:iterator "SELECT ?p ?name {}"; new:referenceFormulation formats:SPARQL_Results_JSON`,
		"new XML":      `new:iterator "SELECT ?p ?name {}"; new:referenceFormulation formats:SPARQL_Results_XML`,
	} {
		t.Run(name, func(t *testing.T) {
			person, label := "p", "name"
			switch {
			case strings.Contains(source, "JSON"):
				person, label = "p.value", "name.value"
			case strings.Contains(source, "XPath"), strings.Contains(source, "XML"):
				person, label = "sparql:binding[@name='p']/sparql:uri", "sparql:binding[@name='name']/sparql:literal"
			}
			vocabulary := "rml"
			if strings.HasPrefix(name, "new") {
				vocabulary = "new"
			}
			got, err := mapWith(t, newClient(t, nil), `<M> a rr:TriplesMap; `+vocabulary+`:logicalSource [ `+vocabulary+
				`:source <E>; `+source+` ]; rr:subjectMap [ `+vocabulary+`:reference "`+person+`"; rr:termType rr:IRI ];
				rr:predicateObjectMap [ rr:predicate ex:name; rr:objectMap [ `+vocabulary+`:reference "`+label+`" ] ] .
				<E> a sd:Service; sd:endpoint <`+at+`/sparql>; sd:supportedLanguage sd:SPARQL11Query .`)
			require.NoError(t, err)
			require.Equal(t, people, got)
		})
	}
}

const thing = `<M> a rr:TriplesMap;
	rml:logicalSource [ rml:source <P>; rml:referenceFormulation ql:JSONPath; rml:iterator "$[*]" ];
	rr:subjectMap [ rr:template "http://example.org/{id}" ]; 
	rr:predicateObjectMap [ rr:predicate ex:v; rr:objectMap [ rml:reference "v" ] ] .
<P> a td:PropertyAffordance; td:hasForm [ hctl:hasTarget "api"; hctl:forContentType "application/json"; 
	hctl:hasOperationType td:readproperty; htv:methodName "GET"; htv:headers ( [ htv:fieldName "X-Reader"; htv:fieldValue "reader-7" ] ) ] .
<T> a td:Thing; td:hasPropertyAffordance <P>; td:baseURI "BASE/v1/"; td:hasSecurityConfiguration [ SECURITY ] .
`

func TestClient_Fetch_requestsAThingAsItsDescriptionSays(t *testing.T) {
	for security, want := range map[string]string{
		`a wotsec:NoSecurityScheme`:                                          "",
		`a wotsec:BasicSecurityScheme`:                                       "Basic dTpzZWNyZXQ=",
		`a wotsec:BearerSecurityScheme; wotsec:in "header"`:                  "Bearer u:secret",
		`a wotsec:APIKeySecurityScheme; wotsec:in "header"; wotsec:name "K"`: "K u:secret",
		`a wotsec:APIKeySecurityScheme; wotsec:in "query"; wotsec:name "k"`:  "k u:secret",
	} {
		var got *http.Request
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r
			w.Header().Set("Content-Type", "application/vnd.api+json")
			_, _ = io.WriteString(w, `[{"id":1,"v":2},{"id":3,"v":4}]`)
		})
		client := newClient(t, &web.Options{Origins: []string{at}, Credentials: map[string]string{at: "u:secret"}})
		out, err := mapWith(t, client, strings.NewReplacer("BASE", at, "SECURITY", security).Replace(thing))
		require.NoError(t, err, security)
		require.Equal(t, "<http://example.org/1> <http://example.org/v> \"2\" .\n"+
			"<http://example.org/3> <http://example.org/v> \"4\" .\n", out)
		require.Equal(t, "/v1/api", got.URL.Path)
		require.Equal(t, http.MethodGet, got.Method)
		require.Equal(t, "reader-7", got.Header.Get("X-Reader"))
		require.Equal(t, "application/json", got.Header.Get("Accept"))
		sent := got.Header.Get("Authorization")
		if key := got.Header.Get("K"); key != "" {
			sent = "K " + key
		} else if key := got.URL.Query().Get("k"); key != "" {
			sent = "k " + key
		}
		require.Equal(t, want, sent)
	}
}

func TestClient_Fetch_showsTheAnswerAndNoSecret(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "\n  wrong key u:secret of reader-7, or secret\nsecond line\n")
	})
	mapping := strings.NewReplacer("BASE", at, "SECURITY", `a wotsec:BasicSecurityScheme`).Replace(thing)
	_, err := mapWith(t, newClient(t, &web.Options{Credentials: map[string]string{at: "u:secret"}}), mapping)
	require.EqualError(t, err, `thing "`+at+`/v1/api": the server answered 403 Forbidden: wrong key (hidden) of (hidden), or (hidden); `+
		`is the credential for `+at+` right? (rml map: -credential)`)
	_, err = mapWith(t, newClient(t, nil), mapping)
	require.ErrorContains(t, err, "the mapping says that it needs a credential (basic), and none is given for "+at)
	_, err = mapWith(t, newClient(t, &web.Options{Origins: []string{"https://example.org"}}), mapping)
	require.ErrorContains(t, err, at+" is not among the origins that may be requested")
	_, err = mapWith(t, nil, mapping)
	require.ErrorContains(t, err, "sources on the web are not fetched")
}

func fetchFile(t *testing.T, opts *web.Options, name string) (string, error) {
	t.Helper()
	return fetchFileUntil(t, t.Context(), opts, name)
}

func fetchFileUntil(t *testing.T, ctx context.Context, opts *web.Options, name string) (string, error) {
	t.Helper()
	body, err := newClient(t, opts).Fetch(ctx, rml.Source{Kind: rml.SourceFile, Name: name, Formulation: rml.CSV})
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

func TestClient_Fetch_limitsTheSize(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	})
	text, err := fetchFile(t, &web.Options{MaxBytes: 100}, at)
	require.NoError(t, err)
	require.Len(t, text, 100)
	text, err = fetchFile(t, &web.Options{MaxBytes: 99}, at)
	require.ErrorIs(t, err, rml.ErrLimit)
	require.Len(t, text, 99)
}

func TestClient_Fetch_limitsTheSizeOfWhatWasCompressed(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(bytes.Repeat([]byte("0"), 1<<20))
		_ = packed.Close()
	})
	_, err := fetchFile(t, &web.Options{MaxBytes: 1 << 16}, at)
	require.ErrorIs(t, err, rml.ErrLimit)
}

func TestClient_Fetch_reportsAnAnswerThatIsCutOff(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "id\n1\n")
	})
	_, err := fetchFile(t, nil, at)
	require.ErrorContains(t, err, "the answer is cut off")
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = mapWith(t, newClient(t, nil), `<M> a rr:TriplesMap;
		rml:logicalSource [ rml:source "`+at+`/x.csv"; rml:referenceFormulation ql:CSV ];
		rr:subjectMap [ rr:template "http://example.org/{id}"; rr:class ex:C ] .`)
	require.ErrorContains(t, err, "the answer is cut off")
}

// pipes is a listener whose connections are pipes: in a bubble its clock alone ends a wait.
type pipes struct {
	ends   chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

// serveInBubble serves at http://in.memory until the test ends, and returns a client for it.
func serveInBubble(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	p := &pipes{ends: make(chan net.Conn)}
	p.closed, p.close = context.WithCancel(context.Background())
	server := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- server.Serve(p) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, end := net.Pipe()
		p.ends <- end
		return client, nil
	}}}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case end := <-p.ends:
		return end, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func TestClient_Fetch_endsWhenTheServerSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, at = 50 * time.Millisecond, "http://in.memory"
		client := serveInBubble(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/part" {
				time.Sleep(limit - 1)
				_, _ = io.WriteString(w, "id\n1\n")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		})
		began := time.Now()
		_, err := fetchFile(t, &web.Options{HTTP: client, Timeout: limit}, at)
		require.ErrorContains(t, err, "the server sent nothing for 50ms")
		require.Equal(t, limit, time.Since(began))
		text, err := fetchFile(t, &web.Options{HTTP: client, Timeout: limit}, at+"/part")
		require.ErrorContains(t, err, "the server sent nothing for 50ms")
		require.Equal(t, "id\n1\n", text)
		require.Equal(t, 3*limit-1, time.Since(began))
		_, err = fetchFile(t, &web.Options{HTTP: client, Total: limit}, at)
		require.ErrorContains(t, err, "the answer took more than 50ms")
		require.Equal(t, 4*limit-1, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = fetchFileUntil(t, ctx, &web.Options{HTTP: client}, at)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestClient_Fetch_followsRedirectsOfOneOriginOnly(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("the other origin was requested") })
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other+"/secret?key=1", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/end", http.StatusFound)
		default:
			_, _ = io.WriteString(w, "end")
		}
	})
	text, err := fetchFile(t, nil, at+"/here")
	require.NoError(t, err)
	require.Equal(t, "end", text)
	_, err = fetchFile(t, nil, at+"/away")
	require.ErrorContains(t, err, "redirected to another server")
	require.NotContains(t, err.Error(), "key=1")
}

func TestClient_Fetch_refusesAPageInPlaceOfData(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<html>please sign in</html>")
	})
	_, err := fetchFile(t, nil, at)
	require.ErrorContains(t, err, "the answer is text/html: expected data")
}

func TestClient_Fetch_hidesTheQueryOfAURL(t *testing.T) {
	client := newClient(t, nil)
	_, err := mapWith(t, client, `<M> a rr:TriplesMap;
		rml:logicalSource [ rml:source "http://127.0.0.1:1/x.csv?key=hush"; rml:referenceFormulation ql:CSV ];
		rr:subjectMap [ rr:template "http://example.org/{id}"; rr:class ex:C ] .`)
	require.ErrorContains(t, err, `file "http://127.0.0.1:1/x.csv": `)
	require.NotContains(t, err.Error(), "hush")
}

func TestClient_Fetch_requestsASourceOfSeveralTriplesMapsOnce(t *testing.T) {
	requests := 0
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		_, _ = io.WriteString(w, "id,boss\n1,2\n2,2\n")
	})
	source := `rml:logicalSource [ rml:source "` + at + `/x.csv"; rml:referenceFormulation ql:CSV ]; `
	got, err := mapWith(t, newClient(t, nil), `<M> a rr:TriplesMap; `+source+`rr:subjectMap [ rr:template "http://example.org/{id}" ];
		rr:predicateObjectMap [ rr:predicate ex:boss; rr:objectMap [ rr:parentTriplesMap <N>;
			rr:joinCondition [ rr:child "boss"; rr:parent "id" ] ] ] .
		<N> a rr:TriplesMap; `+source+` rr:subjectMap [ rr:template "http://example.org/n{id}" ] .`)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(got, "<http://example.org/n2>"))
	require.Equal(t, 1, requests)
}

func TestNew_refusesWhatIsNoOrigin(t *testing.T) {
	for _, bad := range []string{"", "example.org", "ftp://example.org", "https://u:p@example.org", "https://example.org/path", "https://"} {
		_, err := web.New(&web.Options{Origins: []string{bad}})
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "u:p")
	}
	_, err := web.New(&web.Options{Credentials: map[string]string{"https://example.org": "a\r\nb"}})
	require.ErrorContains(t, err, "credential for https://example.org")
	require.NotContains(t, err.Error(), "a\r\nb")
}

func TestParseOrigin_normalizes(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.org:443/": "https://example.org", "http://[::1]:80": "http://[::1]", "http://h:8080": "http://h:8080",
	} {
		got, err := web.ParseOrigin(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
}
