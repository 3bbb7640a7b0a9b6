package repository_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/storage"
)

// rest talks to a handler.
type rest struct {
	t       *testing.T
	handler http.Handler
}

func newREST(t *testing.T) rest {
	return rest{t, repository.NewHandler(memory(t), nil)}
}

func (r rest) do(method, path, contentType, body string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.stream(method, path, contentType, strings.NewReader(body))
}

func (r rest) stream(method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	r.t.Helper()
	request := httptest.NewRequestWithContext(r.t.Context(), method, path, body)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	recorder := httptest.NewRecorder()
	r.handler.ServeHTTP(recorder, request)
	return recorder
}

// is checks a whole answer; an empty body has to be empty.
func (r rest) is(status int, body string, answer *httptest.ResponseRecorder) {
	r.t.Helper()
	require.Equal(r.t, status, answer.Code, answer.Body)
	if body == "" {
		require.Empty(r.t, answer.Body.String())
		return
	}
	require.Equal(r.t, "application/json", answer.Header().Get("Content-Type"))
	require.JSONEq(r.t, body, answer.Body.String())
}

func (r rest) json(method, path, body string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do(method, path, "application/json", body)
}

// put uploads fields of a form, name and content in turn.
func (r rest) put(path string, fields ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	body, contentType := form(r.t, fields...)
	return r.do(http.MethodPut, path, contentType, body)
}

func form(t *testing.T, fields ...string) (body, contentType string) {
	t.Helper()
	var buffer bytes.Buffer
	writer := multipart.NewWriter(&buffer)
	for i := 0; i < len(fields); i += 2 {
		part, err := writer.CreateFormFile(fields[i], "x")
		require.NoError(t, err)
		_, err = io.WriteString(part, fields[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	return buffer.String(), writer.FormDataContentType()
}

func (r rest) get(path string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do(http.MethodGet, path, "", "")
}

func detail(text string) string { return fmt.Sprintf(`{"detail":%q}`, text) }

func missingField(loc string) string {
	return `{"detail":[{"loc":` + loc + `,"msg":"field required","type":"value_error.missing"}]}`
}

func TestNewHandler_servesModels(t *testing.T) {
	r := newREST(t)
	const model = `{"model_name":"base","model_version":2,"model_id":"x","meta":{"library":"keras","description":"d","other":1},"other":1}`
	r.is(200, `[]`, r.get("/model"))
	r.is(201, `null`, r.json("POST", "/model", model))
	r.is(400, detail("Model with this name and version already in repository"), r.json("POST", "/model", model))
	r.is(404, detail("model not found"), r.get("/model/base/2"))
	r.is(404, detail("model not found"), r.put("/model/base/3", "file", "x"))
	r.is(404, detail("model not found"), r.json("PUT", "/model/meta/base/3", `{}`))
	r.is(404, detail("model not found"), r.get("/model/base/3"))
	r.is(404, detail("model not found"), r.do("DELETE", "/model/base/3", "", ""))
	r.is(404, detail("model meta not found"), r.get("/model/meta?model_name=base&model_version=3"))
	want := `{"model_name":"base","model_version":"2","model_id":null,"meta":{"library":"keras","description":"d"}}`
	r.is(200, `[`+want+`]`, r.get("/model"))
	r.is(200, want, r.get("/model/meta?model_name=base&model_version=2"))
	require.Equal(t, want, r.get("/model/meta?model_name=base&model_version=2").Body.String(), "the order of the members")

	r.is(204, "", r.put("/model/base/2/", "other", "y", "file", "zip"))
	r.is(204, "", r.json("PUT", "/model/meta/base/2", `{"library":1}`))
	require.Regexp(t, `^{"model_name":"base","model_version":"2","model_id":"[0-9a-f]{24}","meta":{"library":"1","description":null}}$`,
		r.get("/model/meta?model_name=base&model_version=2").Body.String())
	answer := r.get("/model/base/2")
	require.Equal(t, "200 zip", fmt.Sprint(answer.Code, " ", answer.Body))
	require.Equal(t, "application/octet-stream", answer.Header().Get("Content-Type"))
	require.Equal(t, "3", answer.Header().Get("Content-Length"))

	r.is(200, `[]`, r.get("/model?trained=true"))
	r.is(201, `null`, r.json("POST", "/training-results", `{"model_name":"base","model_version":"2","training_id":1,"configuration_id":1}`))
	for _, query := range []string{"?trained=true", "?trained=1", "?trained=false", ""} {
		require.Contains(t, r.get("/model"+query).Body.String(), `[{"model_name":"base"`, query)
	}
	r.is(422, `{"detail":[{"loc":["query","trained"],"msg":"value could not be parsed to a `+
		`boolean","type":"type_error.bool"}]}`, r.get("/model?trained=maybe"))
	r.is(422, missingField(`["query","model_version"]`), r.get("/model/meta?model_name=base"))
	r.is(204, "", r.do("DELETE", "/model/base/2", "", ""))
	r.is(404, detail("model not found"), r.get("/model/base/2"))
	r.is(200, `[]`, r.get("/models/available"))
}

func TestNewHandler_servesTrainingResults(t *testing.T) {
	r := newREST(t)
	const training = `{"model_name":"base","model_version":"v1","training_id":12,"configuration_id":"10",
		"results":{"rounds":"3","final_loss":"1.5","accuracy":0.25,"ok":true,"big":1e16,"int":7,"whole":7.0,"neg":-0.0}}`
	const at, weights = "/training-results/base/v1/12", "/training-results/weights/base/v1/12"
	r.is(404, detail("model not found"), r.put(at+"/10", "file", "x"))
	r.is(201, `null`, r.json("POST", "/training-results", training))
	r.is(400, detail("This training id of a model of this name and version already in repository"),
		r.json("POST", "/training-results", training))
	want := `[{"model_name":"base","model_version":"v1","training_id":"12",` +
		`"results":{"rounds":"3","final_loss":"1.5","accuracy":"0.25",` +
		`"ok":"True","big":"1e+16","int":"7","whole":"7.0","neg":"-0.0"},"weights_id":null,"configuration_id":"10"}]`
	r.is(200, want, r.get("/training-results"))
	r.is(200, want, r.get("/training-results/base/v1"))
	r.is(200, `[]`, r.get("/training-results/base/v2"))
	r.is(200, `[]`, r.get("/training-results/bas/v1"))
	r.is(404, detail("Training results not found"), r.get(weights))
	r.is(204, "", r.put(at+"/10", "file", "pickle!"))
	require.Equal(t, "cGlja2xlIQ==", r.get(weights).Body.String())
	require.Equal(t, "12", r.get(weights).Header().Get("Content-Length"))
	require.Equal(t, "pickle!", r.get(weights+"?format=pickle").Body.String())
	r.is(404, detail("These weights were not stored as npz"), r.get(weights+"?format=npz"))
	r.is(404, detail("Training results not found"), r.get("/training-results/weights/base/v1/13?format=npz"))
	require.Equal(t, 422, r.get(weights+"?format=exe").Code)
	r.is(204, "", r.put(at+"/10", "npz", "archive", "file", "again"))
	require.Equal(t, "archive", r.get(weights+"?format=npz").Body.String())
	require.Equal(t, "YWdhaW4=", r.get(weights).Body.String())
	require.Regexp(t,
		`^\[{"filename":"weights/base/v1/10","training_id":"12","chunkSize":261120,"length":5,"uploadDate":"[0-9-]{10}T[0-9:.]{15}"}\]$`,
		r.get("/models/available").Body.String())
	r.is(404, detail("Training results not found"), r.do("DELETE", "/training-results/base/v1/13", "", ""))
	r.is(204, "", r.do("DELETE", at, "", ""))
	r.is(404, detail("Training results not found"), r.do("DELETE", at, "", ""))
	r.is(200, `[]`, r.get("/training-results"))
}

func TestNewHandler_servesStrategies(t *testing.T) {
	r := newREST(t)
	const strategy = `{"strategy_name":"ft","strategy_description":"d","meta":{"a":1}}`
	r.is(201, `null`, r.json("POST", "/strategy", strategy))
	r.is(400, detail("Strategy already exists"), r.json("POST", "/strategy", strategy))
	r.is(200, `[{"meta":{"a":"1"},"strategy_name":"ft","strategy_description":"d","strategy_id":null}]`, r.get("/strategy"))
	for _, answer := range []*httptest.ResponseRecorder{r.get("/strategy/x"), r.put("/strategy/x", "file", "x"), r.get("/strategy/ft"),
		r.json("PUT", "/strategy/meta/x", `{"meta":{}}`), r.do("DELETE", "/strategy/x", "", "")} {
		r.is(404, detail("Strategy not found"), answer)
	}
	r.is(204, "", r.put("/strategy/ft", "file", "pickle"))
	r.is(204, "", r.json("PUT", "/strategy/meta/ft", `{"meta":{"class":"FedAvg"}}`))
	answer := r.get("/strategy/ft")
	require.Equal(t, "pickle", answer.Body.String())
	require.Equal(t, "application/octet-stream", answer.Header().Get("Content-Type"))
	require.Contains(t, r.get("/strategy").Body.String(), `"meta":{"class":"FedAvg"}`)
	r.is(204, "", r.do("DELETE", "/strategy/ft", "", ""))
	r.is(200, `[]`, r.get("/strategy"))
}

func TestNewHandler_servesCollectorsAndTransformations(t *testing.T) {
	r := newREST(t)
	const collector = `{"name":"c","version":"1","meta":{}}`
	r.is(201, `null`, r.json("POST", "/collector", collector))
	r.is(400, detail("Collector already exists"), r.json("POST", "/collector", collector))
	r.is(201, `null`, r.json("POST", "/collector", `{"name":"c","version":2.0}`))
	require.Equal(t, 422, r.json("POST", "/collector", `{"name":"c","version":2.5}`).Code)

	const transformation = `{"id":"a.b","parameter_types":{"n":"int"},` +
		`"default_values":{"n":{"deep":[1,null,2.50]}},"outputs":["x",1],"needs":{"storage":"1","GPU":"yes"}}`
	r.is(201, `null`, r.json("POST", "/transformation", transformation))
	r.is(400, detail("Transformation with this id already exists"), r.json("POST", "/transformation", transformation))
	r.is(204, "", r.put("/transformation/a.b", "file", "code"))
	want := `{"id":"a.b","description":null,"parameter_types":{"n":"int"},"default_values":{"n":{"deep":[1,null,2.50]}},` +
		`"outputs":["x","1"],"needs":{"storage":1.0,"RAM":null,"GPU":true,"preinstalled_libraries":null,"available_models":null}}`
	r.is(200, `[`+want+`]`, r.get("/transformation"))
	require.Equal(t, 422, r.json("PUT", "/transformation/meta/a", transformation).Code)
	r.is(404, detail("Transformation not found"), r.json("PUT", "/transformation/meta/z", `{"id":"z","needs":{}}`))
	r.is(204, "", r.json("PUT", "/transformation/meta/a.b", `{"id":"a.b","description":"new","needs":{}}`))
	require.Contains(t, r.get("/transformation").Body.String(), `{"id":"a.b","description":"new","parameter_types":null`)
	require.Equal(t, "code", r.get("/transformation/a.b").Body.String(), "a change of the record lost the file")
	r.is(204, "", r.do("DELETE", "/transformation/a.b", "", ""))
	r.is(404, detail("Transformation not found"), r.get("/transformation/a.b"))
}

func TestNewHandler_findsFilesByName(t *testing.T) {
	r := newREST(t)
	r.is(201, `null`, r.json("POST", "/model", `{"model_name":"base","model_version":"v_1"}`))
	r.is(201, `null`, r.json("POST", "/strategy", `{"strategy_name":"s"}`))
	r.is(204, "", r.put("/model/base/v_1", "file", "one"))
	r.is(204, "", r.put("/strategy/s", "file", "four"))
	require.Regexp(t, `^\[{"filename":"model/base/v_1",.*"length":3.*},{"filename":"strategy/s",.*"length":4.*}\]$`,
		r.get("/models/available").Body.String())
	require.Regexp(t, `^\[{"filename":"model/base/v_1",[^}]*"length":3[^}]*}\]$`, r.get("/models/download/shell/model_base_v_1").Body.String())
	r.is(200, `[]`, r.get("/models/download/shell/model_base"))
}

// Clients of the original post results without a configuration, and without
// measurements.
func TestNewHandler_acceptsTrainingResultsWithNamesOnly(t *testing.T) {
	r := newREST(t)
	r.is(201, `null`, r.json("POST", "/training-results", `{"model_name":"base","model_version":"v1","training_id":"2"}`))
	r.is(201, `null`, r.json("POST", "/training-results",
		`{"model_name":"base","model_version":"v1","training_id":"3","results":null,"weights_id":null,"configuration_id":null}`))
	r.is(200, `[{"model_name":"base","model_version":"v1","training_id":"2","results":null,"weights_id":null,"configuration_id":null},
		{"model_name":"base","model_version":"v1","training_id":"3","results":null,"weights_id":null,"configuration_id":null}]`,
		r.get("/training-results/base/v1"))
	r.is(204, "", r.put("/training-results/base/v1/2/10", "file", "pickle!"))
	require.Equal(t, "pickle!", r.get("/training-results/weights/base/v1/2?format=pickle").Body.String())
	r.is(204, "", r.do("DELETE", "/training-results/base/v1/2", "", ""))
}

func TestNewHandler_namesFaultsOfABody(t *testing.T) {
	r := newREST(t)
	for body, want := range map[string]string{
		``:          missingField(`["body"]`),
		`[]`:        `{"detail":[{"loc":["body"],"msg":"value is not a valid dict","type":"type_error.dict"}]}`,
		`{"a":1}{}`: `{"detail":[{"loc":["body",9],"msg":"more than one value","type":"value_error.jsondecode"}]}`,
		`{"model_name":null,"model_version":"1","training_id":"","results":{"x":[],"y":null},"configuration_id":{}}`: `{"detail":[
			{"loc":["body","model_name"],"msg":"none is not an allowed value","type":"type_error.none.not_allowed"},
			{"loc":["body","training_id"],"msg":"ensure this value has at least 1 characters","type":"value_error.any_str.min_length"},
			{"loc":["body","results","x"],"msg":"str type expected","type":"type_error.str"},
			{"loc":["body","results","y"],"msg":"none is not an allowed value","type":"type_error.none.not_allowed"},
			{"loc":["body","configuration_id"],"msg":"str type expected","type":"type_error.str"}]}`,
	} {
		answer := r.json("POST", "/training-results", body)
		r.is(422, want, answer)
	}
	for _, body := range []string{`{`, `{"a":`, "\xff", `{"strategy_name":"` + "\xff" + `"}`, strings.Repeat(`[`, 20_000)} {
		require.Equal(t, 422, r.json("POST", "/strategy", body).Code, body)
	}
	require.Equal(t, 422, r.do("POST", "/strategy", "text/plain", `{"strategy_name":"s"}`).Code)
	require.Equal(t, 413, r.json("POST", "/strategy", `{"strategy_name":"`+strings.Repeat("s", 1<<20)+`"}`).Code)
	r.is(200, `[]`, r.get("/strategy"))
}

func TestNewHandler_keepsTheFileWhereAnUploadFails(t *testing.T) {
	docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	r := rest{t, repository.NewHandler(newStore(t, docs, blobs), nil)}
	r.is(201, `null`, r.json("POST", "/training-results", `{"model_name":"m","model_version":"v","training_id":"t","configuration_id":"c"}`))
	const at = "/training-results/m/v/t/c"
	r.is(204, "", r.put(at, "file", "good"))
	good, contentType := form(t, "file", "bad")
	twice := `{"detail":[{"loc":["body","file"],"msg":"the field is there more than once","type":"value_error"}]}`
	r.is(422, twice, r.put(at, "file", "bad", "file", "bad"))
	r.is(422, missingField(`["body","file"]`), r.put(at, "npz", "bad"))
	r.is(422, missingField(`["body","file"]`), r.do("PUT", at, "application/json", "bad"))
	r.is(422, missingField(`["body","file"]`), r.do("PUT", at, "multipart/form-data", good))
	for cut := range len(good) - 2 { // the last line break may be missing
		require.Equal(t, 422, r.do("PUT", at, contentType, good[:cut]).Code, "cut off at %d", cut)
	}
	large := strings.Repeat("x", 1<<20)
	r.is(413, detail("The file is larger than the limit of the repository."), r.put(at, "file", large+"x"))
	require.Equal(t, "good", r.get("/training-results/weights/m/v/t?format=pickle").Body.String())
	require.Equal(t, 1, count(t, docs, "file/"), "documents of files")
	require.Equal(t, 1, blobCount(t, blobs))
	r.is(204, "", r.put(at, "file", large))
	require.Equal(t, 1, blobCount(t, blobs))
}

func count(t *testing.T, docs storage.Documents, prefix string) int {
	t.Helper()
	page, err := docs.List(t.Context(), prefix, "", 1000)
	require.NoError(t, err)
	return len(page)
}

func blobCount(t *testing.T, blobs storage.Blobs) (n int) {
	t.Helper()
	for _, err := range blobs.List(t.Context(), "") {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestNewHandler_describesTheService(t *testing.T) {
	r := newREST(t)
	r.is(200, `{"name":"flrepository","version":"0.1"}`, r.get("/version"))
	require.Equal(t, "ok", r.get("/healthz").Body.String())
	require.Equal(t, "ready", r.get("/readyz").Body.String())
	require.Equal(t, http.StatusTemporaryRedirect, r.get("/docs").Code)
	require.Contains(t, r.get("/docs/").Body.String(), "FL repository")
	require.Contains(t, r.get("/openapi.json").Body.String(), `"/training-results"`)
	r.is(404, detail("Not Found"), r.get("/nowhere"))
	r.is(405, detail("Method Not Allowed"), r.do("PATCH", "/strategy", "", ""))
}

func TestNewHandler_servesLongLists(t *testing.T) {
	r := newREST(t)
	const many = 200 // more than a page
	for i := range many {
		r.is(201, `null`, r.json("POST", "/strategy", fmt.Sprintf(`{"strategy_name":"%04d"}`, i)))
	}
	list := r.get("/strategy").Body.String()
	for i := range many {
		require.Contains(t, list, fmt.Sprintf(`"%04d"`, i))
	}
	require.Equal(t, many-1, strings.Count(list, "},{"))
}

func TestNewHandler_servesRangesOfFiles(t *testing.T) {
	r := newREST(t)
	r.is(201, `null`, r.json("POST", "/strategy", `{"strategy_name":"s"}`))
	r.is(204, "", r.put("/strategy/s", "file", "0123456789"))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/strategy/s", nil)
	request.Header.Set("Range", "bytes=2-4")
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, request)
	require.Equal(t, "206 234", fmt.Sprint(answer.Code, " ", answer.Body))
	head := r.do(http.MethodHead, "/strategy/s", "", "")
	require.Equal(t, "10", head.Header().Get("Content-Length"))
}
