package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

// trial is what the workbench answers.
type trial struct {
	Fault, Failure *finding
	Findings       []finding
	Output         string
	Statements     []struct {
		Subject, Predicate, Object struct {
			Text, Value, Datatype string
			IsLiteral             bool
		}
		Line           int
		Node, IllTyped string
	}
	More, Records, IllTyped, Unmatched int
	IrregularRows                      []finding
}

type finding struct {
	Text, Node, Place string
	Line              int
	At                *struct{ From, To int }
}

func (s *visit) postJSON(path, body string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("POST", "/ui/annotation"+path, strings.NewReader(body)), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/json")
	s.handler.ServeHTTP(w, r)
	return w
}

// run runs a mapping of JSON on the workbench, in a bubble, where a busy machine does not use up
// the seconds that a trial has.
func (s *visit) run(sample, mapping string) trial {
	request, err := json.Marshal(map[string]string{"sample": sample, "mapping": mapping,
		"inputFormat": "JSON", "outputFormat": "TTL"})
	require.NoError(s.t, err)
	var answer trial
	synctest.Test(s.t, func(t *testing.T) {
		w := s.postJSON("/workbench/run", string(request))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	})
	return answer
}

// benchForm is the form of the workbench.
func benchForm(action, sample string) url.Values {
	return url.Values{"action": {action}, "sample": {sample}, "rml": {managertest.Mapping},
		"inputFormat": {"JSON"}, "outputFormat": {"TTL"}}
}

func TestNewHandler_workbenchRunsAMapping(t *testing.T) {
	s := newVisit(t, nil)
	answer := s.run(`{"id":1,"value":"v"}`, managertest.Mapping)
	require.Nil(t, answer.Fault)
	require.Nil(t, answer.Failure)
	require.Empty(t, answer.Findings)
	require.Contains(t, answer.Output, `<http://example.com/1>`)
	require.Equal(t, 1, answer.Records)
	require.Len(t, answer.Statements, 1)
	made := answer.Statements[0]
	require.Equal(t, 10, made.Line)
	require.Contains(t, made.Node, "map:Observation")
	require.Equal(t, "<http://example.com/1>", made.Subject.Text)
	require.True(t, made.Object.IsLiteral)
	require.Equal(t, "v", made.Object.Value)
}

func TestNewHandler_workbenchMarksIllTypedLiterals(t *testing.T) {
	s := newVisit(t, nil)
	mapping := strings.Replace(managertest.Mapping, `rml:reference "value"`,
		`rml:reference "value" ; rr:datatype <http://www.w3.org/2001/XMLSchema#decimal>`, 1)
	answer := s.run(`[{"id":1,"value":"4,5"},{"id":2,"value":4.5}]`, mapping)
	require.Equal(t, 1, answer.IllTyped)
	require.Len(t, answer.Statements, 2)
	require.Equal(t, "xsd:decimal does not have this text", answer.Statements[0].IllTyped)
	require.Empty(t, answer.Statements[1].IllTyped)
	require.Len(t, answer.Findings, 1)
	require.Contains(t, answer.Findings[0].Text, `"4,5" at /0/value, which xsd:decimal does not have`)
	require.Equal(t, 10, answer.Findings[0].Line)

	form := benchForm("run", `{"id":1,"value":"4,5"}`)
	form.Set("rml", mapping)
	page := s.post("/workbench", form).Body.String()
	require.Contains(t, page, "1 statement has a literal whose text its datatype does not have")
	require.Contains(t, page, `<span class="small warning">xsd:decimal does not have this text</span>`)
}

func TestNewHandler_workbenchMarksIrregularRows(t *testing.T) {
	s := newVisit(t, nil)
	form := benchForm("run", "id,value\n1,ä\n2\n")
	form.Set("rml", strings.Replace(managertest.Mapping, "ql:JSONPath", "ql:CSV", 1))
	form.Set("inputFormat", "CSV")
	page := s.post("/workbench", form).Body.String()
	require.Contains(t, page, `<p class="warning">Rows of the message do not have the cells of its header; `+
		`a channel publishes the result.</p>`)
	require.Contains(t, page, "one row of CSV with fewer cells than the header")

	request, err := json.Marshal(map[string]string{"sample": form.Get("sample"), "mapping": form.Get("rml"), "inputFormat": "CSV"})
	require.NoError(t, err)
	var answer trial
	require.NoError(t, json.Unmarshal(s.postJSON("/workbench/run", string(request)).Body.Bytes(), &answer))
	require.Len(t, answer.IrregularRows, 1)
	require.Equal(t, "row 2 (line 3)", answer.IrregularRows[0].Place)
	at := answer.IrregularRows[0].At
	require.Equal(t, "2", form.Get("sample")[at.From+1:at.To+1], "after a character of two bytes")
}

func TestNewHandler_workbenchSaysWhereTheMappingIsWrong(t *testing.T) {
	s := newVisit(t, nil)
	require.Equal(t, 2, s.run("{}", "\n@prefix").Fault.Line, "a fault of the syntax")
	unknown := s.run("{}", strings.Replace(managertest.Mapping, "rml:reference ", "rml:refrence ", 1)).Fault
	require.NotNil(t, unknown)
	require.Positive(t, unknown.Line, "a fault of the terms: %v", unknown)
	require.Contains(t, s.run("{}", strings.Replace(managertest.Mapping, "ql:JSONPath", "ql:XPath", 1)).Fault.Text, "inputFormat JSON")
}

func TestNewHandler_workbenchSaysWhereTheMessageFails(t *testing.T) {
	s := newVisit(t, nil)
	sample := `{"ä𝄞":1,"id":}`
	failure := s.run(sample, managertest.Mapping).Failure
	require.NotNil(t, failure)
	require.Contains(t, failure.Text, "line 1 column 18")
	require.Empty(t, failure.Place, "it is said once")
	require.NotNil(t, failure.At)
	require.Equal(t, 14, failure.At.From, "in the units of scripts, not in bytes")
	require.Equal(t, 15, failure.At.To)
}

func TestNewHandler_workbenchSaysWhichValueFails(t *testing.T) {
	s := newVisit(t, nil)
	mapping := strings.Replace(managertest.Mapping, `rml:reference "value"`, `rml:reference "value" ; rr:termType rr:IRI`, 1)
	sample := `{"id":1,"value":"no IRI"}`
	failure := s.run(sample, mapping).Failure
	require.NotNil(t, failure)
	require.Contains(t, failure.Node, "map:Observation")
	require.NotEmpty(t, failure.Place)
	require.NotNil(t, failure.At)
}

func TestNewHandler_workbenchSaysWhatWasNotSelected(t *testing.T) {
	s := newVisit(t, nil)
	nothing := s.run(`{"id":1}`, strings.Replace(managertest.Mapping, `rml:iterator "$"`, `rml:iterator "$.items[*]"`, 1))
	require.Zero(t, nothing.Records)
	require.Len(t, nothing.Findings, 1, "it is said once")
	require.Contains(t, nothing.Findings[0].Text, "iterator selects no record")
	require.Positive(t, nothing.Findings[0].Line)

	dead := s.run(`{"id":1,"other":2}`, managertest.Mapping)
	require.Equal(t, 1, dead.Records)
	require.Contains(t, dead.Findings[0].Text, `reference "value" has no value`)
	require.Equal(t, 10, dead.Findings[0].Line)
}

func TestNewHandler_workbenchIsBounded(t *testing.T) {
	s := newVisit(t, nil)
	for name, body := range map[string]string{
		"the sample":  fmt.Sprintf(`{"sample":%q}`, strings.Repeat("x", 1<<20+1)),
		"the mapping": fmt.Sprintf(`{"mapping":%q}`, strings.Repeat("x", 1<<20+1)),
		"the request": strings.Repeat(" ", 8<<20+1),
	} {
		require.Equal(t, http.StatusRequestEntityTooLarge, s.postJSON("/workbench/run", body).Code, name)
	}
	require.Equal(t, http.StatusBadRequest, s.postJSON("/workbench/run", `{"unknown":1}`).Code)
	require.Equal(t, http.StatusUnsupportedMediaType, s.post("/workbench/run", nil).Code)
	form := benchForm("run", strings.Repeat("x", 1<<20+1))
	require.Equal(t, http.StatusRequestEntityTooLarge, s.post("/workbench", form).Code, "and so is the form")

	mapping := strings.Replace(managertest.Mapping, `rml:iterator "$"`, `rml:iterator "$[*]"`, 1)
	many := make([]string, 0, 10_001)
	for i := range cap(many) {
		many = append(many, fmt.Sprintf(`{"id":%d,"value":2}`, i))
	}
	shown := s.run("["+strings.Join(many[:1500], ",")+"]", mapping)
	require.Len(t, shown.Statements, 1000)
	require.Equal(t, 500, shown.More, "what is not shown is counted")
	require.Contains(t, s.run("["+strings.Join(many, ",")+"]", mapping).Failure.Text, "10000 statements")
}

func TestNewHandler_workbenchWorksWithoutScripts(t *testing.T) {
	s := newVisit(t, nil)
	empty := s.get("/workbench").Body.String()
	require.Contains(t, empty, "Show me an example")
	require.NotContains(t, empty, "<code>&lt;", "there is no result")

	example := s.post("/workbench", url.Values{"action": {"example"}})
	require.Equal(t, http.StatusOK, example.Code)
	require.Contains(t, example.Body.String(), "&lt;http://example.org/sensor/w1&gt;")
	require.Contains(t, s.post("/workbench", benchForm("run", `{"id":1,"value":"<v>"}`)).Body.String(), "&#34;&lt;v&gt;&#34;")
	require.Contains(t, s.post("/workbench", benchForm("run", `{"id":`)).Body.String(), "Message: JSON line 1 column 7")

	wrong := s.post("/workbench", benchForm("suggest", `{"id":`))
	require.Equal(t, http.StatusUnprocessableEntity, wrong.Code)
	require.Contains(t, wrong.Body.String(), "unexpected EOF")
	require.Contains(t, wrong.Body.String(), "map:Observation", "what was typed stays")
}

func TestNewHandler_workbenchStoresAndLoadsAnnotations(t *testing.T) {
	s := newVisit(t, nil)
	form := benchForm("", `{"id":1,"value":"v"}`)
	form.Set("mappingName", "<mine>")
	stored := s.post("/annotations", form)
	require.Equal(t, http.StatusSeeOther, stored.Code)
	require.Contains(t, s.get("/"+stored.Header().Get("Location")).Body.String(), "map:Observation")

	load := url.Values{"action": {"load"}, "sample": {`{"id":7,"value":"kept"}`},
		"annotation": {strings.TrimPrefix(stored.Header().Get("Location"), "workbench?annotation=")}}
	page := s.post("/workbench", load).Body.String()
	require.Contains(t, page, "&lt;http://example.com/7&gt;", "the sample stays, and the mapping is run")
	require.Contains(t, page, `value="&lt;mine&gt;"`)
	load.Set("annotation", "none")
	require.Equal(t, http.StatusNotFound, s.post("/workbench", load).Code)
}

func TestNewHandler_workbenchFillsTheFormOfAChannel(t *testing.T) {
	s := newVisit(t, nil)
	page := s.post("/new", benchForm("", `{"id":7}`)).Body.String()
	require.Contains(t, page, "{&#34;id&#34;:7}")
	require.Contains(t, page, "map:Observation")
	form := channelForm("x")
	form.Set("action", "run")
	form.Set("sample", `{"id":7,"value":1}`)
	require.Contains(t, s.post("/workbench", form).Body.String(), "&lt;http://example.com/7&gt;", "and back")
}

func TestNewHandler_workbenchReplacesTheMappingOfAChannel(t *testing.T) {
	s := newVisit(t, nil)
	require.Equal(t, http.StatusSeeOther, s.post("/new", channelForm("a/b")).Code)
	page := s.get("/workbench?channel=a%2Fb").Body.String()
	require.Contains(t, page, "Mapping of Name of a/b")
	require.Contains(t, page, `formaction="./channels/a%2Fb/mapping"`)

	form := benchForm("", "")
	form.Set("rml", strings.ReplaceAll(managertest.Mapping, "http://example.com/{id}", "http://example.com/new/{id}"))
	w := s.post("/channels/a%2Fb/mapping", form)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "../a%2Fb", w.Header().Get("Location"))
	c, err := s.manager.Get("a/b")
	require.NoError(t, err)
	require.Contains(t, c.Mapping.RML, "http://example.com/new/{id}")
	require.Equal(t, annotate.Turtle, c.Mapping.OutputFormat)
	require.Equal(t, http.StatusNotFound, s.get("/workbench?channel=none").Code)
}

func TestNewHandler_workbenchOpensAMessageThatFailed(t *testing.T) {
	s := newVisit(t, nil)
	require.Equal(t, http.StatusSeeOther, s.post("/new", channelForm("a/b")).Code)
	require.NoError(t, s.broker.Publish(t.Context(), annotate.Message{Topic: "a/b/in", Payload: []byte(`{"id":`)}))
	managertest.Await(t, s.broker, "a/b/errors", 1)

	led := s.get("/workbench?channel=a%2Fb&failure=1")
	require.Equal(t, http.StatusSeeOther, led.Code)
	require.Equal(t, "channels/a%2Fb/failures/1/workbench", led.Header().Get("Location"))
	page := s.get("/" + led.Header().Get("Location"))
	require.Equal(t, http.StatusOK, page.Code, page.Body)
	require.Contains(t, page.Body.String(), "This message failed at")
	require.Contains(t, page.Body.String(), "{&#34;id&#34;:</textarea>")
	require.Contains(t, page.Body.String(), "Message: JSON line 1 column 7")
	require.Equal(t, http.StatusNotFound, s.get("/channels/a%2Fb/failures/2/workbench").Code)
}

func TestNewHandler_workbenchRequiresRoles(t *testing.T) {
	s := newVisit(t, &rest.HandlerOptions{Authorize: httpapitest.Authorize})
	for _, path := range []string{"/workbench", "/channels/x/failures/1/workbench"} {
		require.Equal(t, http.StatusUnauthorized, s.get(path).Code, path)
	}
	for _, path := range []string{"/workbench", "/workbench/run", "/workbench/suggest", "/channels/x/mapping", "/annotations"} {
		require.Equal(t, http.StatusUnauthorized, s.post(path, nil).Code, path)
	}
}

// FuzzReadTrial checks that no request takes the workbench down.
func FuzzReadTrial(f *testing.F) {
	f.Add([]byte(`{"sample":"{}","mapping":"","inputFormat":"JSON","outputFormat":"TTL"}`))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = page.ReadTrial(data) })
}
