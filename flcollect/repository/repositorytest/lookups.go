package repositorytest

import (
	"archive/zip"
	"bytes"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// model makes a model with a file.
func (s *scene) model(version string, data []byte) {
	s.t.Helper()
	s.create("/model", fmt.Sprintf(`{"model_name":"base/1","model_version":%q,"meta":{"library":"keras","description":"d"}}`, version))
	s.upload("/model/base%2F1/"+version, data)
}

// firstElements are the first elements of a model's tensors.
func firstElements(m strategy.Model) []float64 {
	var all []float64
	for _, t := range m {
		all = append(all, t.Float64s()[0])
	}
	return all
}

func parameters(s *scene) {
	archive := func(names ...string) []byte {
		arrays := make([]tensor.Named, len(names))
		for i, name := range names {
			arrays[i] = tensor.Named{Name: name, Tensor: tensor.FromFloat64s([]float64{float64(i)})}
		}
		var out bytes.Buffer
		require.NoError(s.t, tensor.WriteNPZ(&out, arrays...))
		return out.Bytes()
	}
	for i, c := range []struct {
		data []byte
		want []float64
	}{
		{archive("arr_0", "arr_1", "arr_2"), []float64{0, 1, 2}},
		{archive("arr_0", "arr_1", "arr_10", "arr_2"), []float64{0, 1, 3, 2}},
		{archive("dense/kernel", "dense/bias", "arr_0"), []float64{0, 1, 2}},
		{bytes.Join(tensor.Encode(tensor.FromFloat32s([]float32{5, 6})), nil), []float64{5}},
	} {
		version := fmt.Sprint(i)
		s.model(version, c.data)
		model, err := s.repository.Model(s.t.Context(), "base/1", version)
		require.NoError(s.t, err)
		require.Equal(s.t, c.want, firstElements(model))
	}
}

func noParameters(s *scene) {
	var keras, torn bytes.Buffer
	archive := zip.NewWriter(&keras)
	_, err := archive.Create("model/saved_model.pb")
	require.NoError(s.t, err)
	require.NoError(s.t, archive.Close())
	require.NoError(s.t, tensor.WriteNPZ(&torn, tensor.Named{Name: "arr_0", Tensor: tensor.FromFloat64s([]float64{1})}))
	torn.Truncate(torn.Len() - 8)
	for i, data := range [][]byte{nil, []byte("x"), []byte("hello, model"), keras.Bytes(), torn.Bytes(),
		[]byte("\x93NUMPY\x01"), []byte("PK\x03\x04")} {
		s.model(fmt.Sprint(i), data)
		_, err := s.repository.Model(s.t.Context(), "base/1", fmt.Sprint(i))
		require.ErrorIs(s.t, err, flcollect.ErrNoModel, "file %d", i)
		require.ErrorContains(s.t, err, `get model "base/1 `)
	}
	s.create("/model", `{"model_name":"bare","model_version":"1"}`)
	for _, name := range []string{"bare", "missing", ""} {
		_, err := s.repository.Model(s.t.Context(), name, "1")
		require.ErrorIs(s.t, err, flcollect.ErrNoModel, name)
	}
}

func classes(s *scene) {
	s.create("/strategy", `{"strategy_name":"ours/a","meta":{"class":"FedAvg","min_fit_clients":"7","min_available_clients":3}}`)
	made, err := s.repository.Strategy(s.t.Context(), "ours/a", strategy.Conf{"min_available_clients": 5, "min_evaluate_clients": nil})
	require.NoError(s.t, err)
	require.Equal(s.t, 7, made.Policy().Fit.MinClients)
	require.Equal(s.t, 5, made.Policy().MinAvailable)

	var field *strategy.FieldError
	_, err = s.repository.Strategy(s.t.Context(), "ours/a", strategy.Conf{"min_fit_clients": "many"})
	require.ErrorAs(s.t, err, &field)
	require.Equal(s.t, "min_fit_clients", field.Field)
}

func noClasses(s *scene) {
	s.create("/strategy", `{"strategy_name":"pickled","meta":{}}`)
	s.upload("/strategy/pickled", []byte("\x80\x04N."))
	s.create("/strategy", `{"strategy_name":"unknown","meta":{"class":"FedNothing"}}`)
	s.create("/strategy", `{"strategy_name":"bare"}`)
	for name, text := range map[string]string{
		"pickled": "are not loaded here", "unknown": "FedNothing", "bare": "class", "missing": "missing",
	} {
		_, err := s.repository.Strategy(s.t.Context(), name, nil)
		require.ErrorIs(s.t, err, flcollect.ErrNoStrategy, name)
		require.ErrorContains(s.t, err, text)
	}
}
