package repositorytest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Open returns a repository without records, and its REST interface. What needs
// to be cleaned up is left to t.Cleanup.
type Open func(t *testing.T) (flcollect.Repository, http.Handler)

// Run runs the suite. Each test calls open for a repository of its own.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*scene)
	}{
		{"a result is shown with its weights", results},
		{"a result may be stored again", again},
		{"another result of a training is refused", another},
		{"many store one result", many},
		{"names may be anything", names},
		{"names have bounds", bounds},
		{"numbers of every kind", numbers},
		{"models with parameters", parameters},
		{"models without parameters", noParameters},
		{"strategies with a class", classes},
		{"strategies without one", noClasses},
	} {
		t.Run(c.name, func(t *testing.T) {
			repository, handler := open(t)
			c.run(&scene{t, repository, handler})
		})
	}
}

// scene is a repository under test.
type scene struct {
	t          *testing.T
	repository flcollect.Repository
	handler    http.Handler
}

// do sends a request to the REST interface.
func (s *scene) do(method, path, contentType string, body []byte) *httptest.ResponseRecorder {
	s.t.Helper()
	request := httptest.NewRequestWithContext(s.t.Context(), method, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return recorder
}

// create makes a record.
func (s *scene) create(path, body string) {
	s.t.Helper()
	answer := s.do(http.MethodPost, path, "application/json", []byte(body))
	require.Equal(s.t, http.StatusCreated, answer.Code, answer.Body)
}

// upload gives a record its file.
func (s *scene) upload(path string, data []byte) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "file")
	require.NoError(s.t, err)
	_, err = part.Write(data)
	require.NoError(s.t, err)
	require.NoError(s.t, form.Close())
	answer := s.do(http.MethodPut, path, form.FormDataContentType(), body.Bytes())
	require.Equal(s.t, http.StatusNoContent, answer.Code, answer.Body)
}

// records are those of all trainings.
func (s *scene) records() []map[string]any {
	s.t.Helper()
	answer := s.do(http.MethodGet, "/training-results", "", nil)
	require.Equal(s.t, http.StatusOK, answer.Code)
	var all []map[string]any
	require.NoError(s.t, json.Unmarshal(answer.Body.Bytes(), &all))
	return all
}

// weights are those of a training, as the original answers them.
func (s *scene) weights(r flcollect.Result) []byte {
	s.t.Helper()
	answer := s.do(http.MethodGet,
		"/training-results/weights/"+escape(r.ModelName)+"/"+escape(r.ModelVersion)+"/"+escape(r.TrainingID), "", nil)
	require.Equal(s.t, http.StatusOK, answer.Code, answer.Body)
	data, err := base64.StdEncoding.DecodeString(answer.Body.String())
	require.NoError(s.t, err)
	return data
}

func escape(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2e")
	}
	return url.PathEscape(name)
}

// Result is a result with everything in it.
func Result() flcollect.Result {
	loss := 78.94696807861328
	return flcollect.Result{
		ModelName: "keras_test", ModelVersion: "version_1", TrainingID: "12", ConfigurationID: "10",
		Rounds: 3, FinalLoss: &loss, Metrics: map[string]float64{"accuracy": 0.21299999952316284, "whole": 1},
		StrategyConf: strategy.Conf{"min_fit_clients": "1", "min_available_clients": 2, "accept_failures": true, "fraction_fit": 0.5, "eta": nil},
		Weights:      strategy.Model{tensor.FromFloat32s([]float32{1, 2, 3, 4}, 2, 2), tensor.FromInt64s([]int64{7})},
	}
}

func pickle(t *testing.T, weights strategy.Model) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, tensor.WritePickle(&out, weights...))
	return out.Bytes()
}

func results(s *scene) {
	r := Result()
	require.NoError(s.t, s.repository.Store(s.t.Context(), r))
	all := s.records()
	require.Len(s.t, all, 1)
	require.NotEmpty(s.t, all[0]["weights_id"])
	delete(all[0], "weights_id")
	require.Equal(s.t, map[string]any{
		"model_name": "keras_test", "model_version": "version_1", "training_id": "12", "configuration_id": "10",
		"results": map[string]any{
			"rounds": "3", "final_loss": "78.94696807861328", "accuracy": "0.21299999952316284", "whole": "1.0",
			"min_fit_clients": "1", "min_available_clients": "2", "accept_failures": "True", "fraction_fit": "0.5",
		},
	}, all[0])
	require.Equal(s.t, pickle(s.t, r.Weights), s.weights(r))
}

func again(s *scene) {
	r := Result()
	for range 3 {
		require.NoError(s.t, s.repository.Store(s.t.Context(), r))
	}
	require.Len(s.t, s.records(), 1)
	require.Equal(s.t, pickle(s.t, r.Weights), s.weights(r))
	answer := s.do(http.MethodGet, "/models/available", "", nil)
	require.Equal(s.t, 1, strings.Count(answer.Body.String(), "uploadDate"), "a file was left behind: %s", answer.Body)
}

func another(s *scene) {
	first := Result()
	require.NoError(s.t, s.repository.Store(s.t.Context(), first))
	for name, change := range map[string]func(*flcollect.Result){
		"rounds":        func(r *flcollect.Result) { r.Rounds = 4 },
		"loss":          func(r *flcollect.Result) { r.FinalLoss = nil },
		"metrics":       func(r *flcollect.Result) { r.Metrics = map[string]float64{"accuracy": 0.3} },
		"configuration": func(r *flcollect.Result) { r.ConfigurationID = "11" },
	} {
		r := Result()
		change(&r)
		r.Weights = strategy.Model{tensor.FromFloat32s([]float32{9})}
		err := s.repository.Store(s.t.Context(), r)
		require.ErrorIs(s.t, err, flcollect.ErrRefused, name)
		require.ErrorContains(s.t, err, "another result", name)
	}
	require.Equal(s.t, pickle(s.t, first.Weights), s.weights(first), "the weights were replaced by those of a result that was refused")
	for _, change := range []func(*flcollect.Result){
		func(r *flcollect.Result) { r.TrainingID = "13" },
		func(r *flcollect.Result) { r.ModelVersion = "version_2" },
		func(r *flcollect.Result) { r.ModelName = "keras" },
	} {
		r := Result()
		change(&r)
		require.NoError(s.t, s.repository.Store(s.t.Context(), r))
	}
	require.Len(s.t, s.records(), 4)
	second := Result()
	second.Run, second.Weights = 2, strategy.Model{tensor.FromFloat32s([]float32{9})}
	require.NoError(s.t, s.repository.Store(s.t.Context(), second))
	second.TrainingID = second.RecordID()
	require.Equal(s.t, pickle(s.t, second.Weights), s.weights(second), "the result of a run is its own")
	require.Equal(s.t, pickle(s.t, first.Weights), s.weights(first), "the second run replaced the first")
	require.Len(s.t, s.records(), 5)

	third := Result()
	third.TrainingID, third.Run, third.RunID = "14", 1, "b3a0"
	require.NoError(s.t, s.repository.Store(s.t.Context(), third))
	elsewhere := third // a collector with another store has conducted it
	elsewhere.RunID, elsewhere.Weights = "c4e1", strategy.Model{tensor.FromFloat32s([]float32{9})}
	err := s.repository.Store(s.t.Context(), elsewhere)
	require.ErrorIs(s.t, err, flcollect.ErrRefused)
	require.ErrorContains(s.t, err, "another result")
	require.ErrorContains(s.t, err, "run_id")
	require.Equal(s.t, pickle(s.t, third.Weights), s.weights(third), "the result of another run replaced it")
	require.NoError(s.t, s.repository.Store(s.t.Context(), third), "it is stored already")
	require.Len(s.t, s.records(), 6)
}

func many(s *scene) {
	r := Result()
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = s.repository.Store(s.t.Context(), r) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(s.t, err)
	}
	require.Len(s.t, s.records(), 1)
	require.Equal(s.t, pickle(s.t, r.Weights), s.weights(r))
	answer := s.do(http.MethodGet, "/models/available", "", nil)
	require.Equal(s.t, 1, strings.Count(answer.Body.String(), "uploadDate"), "files were left behind: %s", answer.Body)
}

func names(s *scene) {
	nasty := []string{"a/b", "..", ".", "a b", "%2F", "%", "żółw", "模型", "a\nb", "\x00", "#", "?x=1", "a;b", "a+b",
		`"\`, "weights", "meta", "~",
		strings.Repeat("long/", 200), strings.Repeat("long/", 200) + "x", strings.Repeat("é", 500)}
	for i, name := range nasty {
		r := Result()
		r.ModelName, r.ModelVersion, r.TrainingID, r.ConfigurationID = name, nasty[(i+1)%len(nasty)], nasty[(i+2)%len(nasty)], name
		r.Weights = strategy.Model{tensor.FromInt64s([]int64{int64(i)})}
		require.NoError(s.t, s.repository.Store(s.t.Context(), r), "%q", name)
		require.Equal(s.t, pickle(s.t, r.Weights), s.weights(r), "%q", name)
	}
	require.Len(s.t, s.records(), len(nasty))
}

func bounds(s *scene) {
	for _, name := range []string{"", strings.Repeat("x", 1025), "\xff"} {
		for _, at := range []func(*flcollect.Result) *string{
			func(r *flcollect.Result) *string { return &r.ModelName },
			func(r *flcollect.Result) *string { return &r.TrainingID },
			func(r *flcollect.Result) *string { return &r.ConfigurationID },
		} {
			r := Result()
			*at(&r) = name
			require.ErrorIs(s.t, s.repository.Store(s.t.Context(), r), flcollect.ErrRefused, "%q", name)
		}
	}
	require.Empty(s.t, s.records())
}

func numbers(s *scene) {
	r := Result()
	r.FinalLoss = nil
	r.Metrics = map[string]float64{"rounds": 1, "final_loss": 2, "eta": 3, "tiny": 1e-7, "huge": 1e300, "zero": 0, "tenth": 0.1}
	r.StrategyConf = strategy.Conf{"eta": json.Number("1e-1"), "tau": float32(0.25), "q_param": uint8(3)}
	require.NoError(s.t, s.repository.Store(s.t.Context(), r))
	require.NoError(s.t, s.repository.Store(s.t.Context(), r))
	require.Equal(s.t, map[string]any{"rounds": "3", "final_loss": "None", "eta": "0.1", "tau": "0.25", "q_param": "3",
		"tiny": "1e-07", "huge": "1e+300", "zero": "0.0", "tenth": "0.1"}, s.records()[0]["results"])
	r.TrainingID, r.Updates.Counts = "14", report.Counts{Kept: 9, Clipped: 1, Refused: 2, Far: 3, Converted: 4}
	r.Metrics = map[string]float64{"clipped": 7}
	require.NoError(s.t, s.repository.Store(s.t.Context(), r))
	i := slices.IndexFunc(s.records(), func(record map[string]any) bool { return record["training_id"] == "14" })
	require.Equal(s.t, map[string]any{"rounds": "3", "final_loss": "None", "eta": "0.1", "tau": "0.25", "q_param": "3",
		"clipped": "1", "refused": "2", "far": "3", "converted": "4"}, s.records()[i]["results"])
	r.TrainingID, r.StrategyConf = "13", strategy.Conf{"eta": []int{1}}
	require.ErrorIs(s.t, s.repository.Store(s.t.Context(), r), flcollect.ErrRefused)
}
