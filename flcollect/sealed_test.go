package flcollect_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// keys are the parameters of the ciphertexts here. SEAL wrote them with a scale of
// 2^16, which would leave no room for anything; so they say 2^10.
var keys = ckks.Settings{PolyModulusDegree: 1024, CoeffModBitSizes: []int{27}, ScaleBits: 10}

// Where the scale and the residues are in a ciphertext that is not compressed.
const (
	scaleAt    = 16 + 57
	residuesAt = 16 + 73 + 16 + 8
)

// fixture reads a file of package ckks.
func fixture(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"ckks", "testdata"}, parts...)...))
	require.NoError(t, err)
	return data
}

// message returns a TenSEAL message of one number, from a ciphertext of SEAL.
func message(t testing.TB, name string) []byte {
	t.Helper()
	ciphertext := fixture(t, "seal", name)
	scale := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Ldexp(1, keys.ScaleBits)))
	copy(ciphertext[scaleAt:], scale)
	data := append([]byte{1<<3 | 2, 1, 1}, 2<<3|2) // the shape, and a ciphertext
	data = binary.AppendUvarint(data, uint64(len(ciphertext)))
	data = append(data, ciphertext...)
	return append(append(data, 3<<3|1), scale...)
}

// residues returns those of the only ciphertext of a model.
func residues(t testing.TB, model strategy.Model) []byte {
	t.Helper()
	require.Len(t, model, 1)
	message := bytes.Join(model[0].Chunks(), nil)
	at := bytes.Index(message, []byte{0x5e, 0xa1, 0x10}) // of the ciphertext's header
	require.Positive(t, at)
	return message[at+residuesAt:][:2*1024*8]
}

// encrypted are parameters with messages.
func encrypted(messages ...[]byte) flower.Parameters {
	model := make([]tensor.Tensor, len(messages))
	for i, m := range messages {
		t, err := tensor.New(tensor.Uint8, []int{len(m)}, m)
		if err != nil {
			panic(err)
		}
		model[i] = t
	}
	return flower.FromBytes(ckks.Type, model...)
}

// keeper is a client with the keys: it can encrypt, and answers the same whatever it
// is sent.
type keeper struct {
	message  []byte // its update
	begin    []byte // what it has to begin with, if that is another
	examples int64
	fit      func(ins flower.FitIns, res *flower.FitRes) error // may be nil
	evaluate func(ins flower.EvaluateIns) error                // may be nil
}

func (k keeper) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

func (k keeper) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	if k.begin != nil {
		return encrypted(k.begin), nil
	}
	return encrypted(k.message), nil
}

func (k keeper) Fit(_ context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	if ins.Parameters.Type != ckks.Type {
		return nil, fmt.Errorf("parameters of type %q", ins.Parameters.Type)
	}
	res := &flower.FitRes{Parameters: encrypted(k.message), NumExamples: k.examples, Metrics: flower.Config{"accuracy": 0.5}}
	if k.fit != nil {
		return res, k.fit(ins, res)
	}
	return res, nil
}

func (k keeper) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	if ins.Parameters.Type != ckks.Type || len(ins.Parameters.Tensors) != 1 {
		return nil, fmt.Errorf("%d parameters of type %q", len(ins.Parameters.Tensors), ins.Parameters.Type)
	}
	res := &flower.EvaluateRes{Loss: 2, NumExamples: k.examples, Metrics: flower.Config{"accuracy": 0.5}}
	if k.evaluate != nil {
		return res, k.evaluate(ins)
	}
	return res, nil
}

// sealed is a job with encryption for so many clients.
func sealed(rounds, clients int) jobconfig.Config {
	c := config(rounds, clients)
	settings := keys
	c.Homomorphic = &settings
	return c
}

// refusing is a repository that must not be asked for a model or a strategy.
type refusing struct{ *neighbours }

func (refusing) Model(context.Context, string, string) (strategy.Model, error) {
	return nil, fmt.Errorf("%w: no request is expected", flcollect.ErrRefused)
}

func (refusing) Strategy(context.Context, string, strategy.Conf) (strategy.Strategy, error) {
	return nil, fmt.Errorf("%w: no request is expected", flcollect.ErrRefused)
}

func never(context.Context, jobconfig.Config) (strategy.Model, error) {
	return nil, fmt.Errorf("%w: no request is expected", flcollect.ErrRefused)
}

func TestServer_Result_ofAnEncryptedJobIsTheSumOfSEAL(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: never, Repository: refusing{n}})
	h, _ := serveWorld(t, w)
	conf := sealed(2, 2)
	conf.Strategy = "mine"
	conf.StrategyConf["server_momentum"] = 0.9 // has no meaning
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	w.join(t, keeper{message: message(t, "none-second"), examples: 7})
	status := w.until(t, "job", "stored", func(s flcollect.Status) bool { return s.Stored && s.State == report.Finished })
	require.Equal(t, report.Finished, status.State, status.Error)
	require.Contains(t, status.Note, `the strategy is FedAvg instead of "mine"`)

	want := fixture(t, "seal", "none-sum")[residuesAt:]
	result, ok := n.stored("job")
	require.True(t, ok)
	require.True(t, result.Encrypted)
	require.Equal(t, want, residues(t, result.Weights))
	require.EqualValues(t, 2, *result.FinalLoss)
	require.Equal(t, map[string]float64{"accuracy": 0.5}, result.Metrics)

	var pickle bytes.Buffer
	require.NoError(t, result.WriteWeights(&pickle))
	download := jobstest.Ask(h, "GET", "/job/result/job", "")
	require.Equal(t, pickle.Bytes(), download.Body.Bytes())
	require.Contains(t, download.Header().Get("Content-Disposition"), "m-1-job-2.pkl")
	require.True(t, bytes.HasPrefix(pickle.Bytes(), []byte("\x80\x04")))
	require.Contains(t, pickle.String(), "flwr.common.typing")
	require.True(t, bytes.Contains(pickle.Bytes(), bytes.Join(result.Weights[0].Chunks(), nil)))
	require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), "Model (.pkl, encrypted)")
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `"privacy_mechanisms":["homomorphic"]`)
}

func TestServer_Handle_quarantinesUpdatesOfTheWrongForm(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.NoError(t, w.Start(t.Context(), "sealed", sealed(1, 2)))
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	w.join(t, keeper{message: message(t, "none-second"), examples: 5, fit: func(_ flower.FitIns, res *flower.FitRes) error {
		res.Parameters = flower.FromTensors(tensor.FromFloat32s([]float32{1}))
		return nil
	}})
	status := w.untilState(t, "sealed", report.Finished)
	require.Len(t, status.Quarantined, 1)
	require.Contains(t, status.Quarantined[0].Reason,
		`the parameters are not encrypted: their type is "numpy.ndarray", and the job takes "homomorphic"`)

	require.NoError(t, w.Start(t.Context(), "plain", config(1, 2)))
	w.join(t, trainer{step: 1, examples: 1})
	w.join(t, trainer{step: 1, examples: 1, fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
		res.Parameters = encrypted(message(t, "none-first"))
		return nil
	}})
	status = w.untilState(t, "plain", report.Finished)
	require.Len(t, status.Quarantined, 1)
	require.Contains(t, status.Quarantined[0].Reason, `the parameters are encrypted, of type "homomorphic"`)
}

func TestServer_Start_waitsForAClientThatEncrypts(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.NoError(t, w.Start(t.Context(), "job", sealed(1, 1)))
	_, leave := w.join(t, trainer{begin: []float32{1}, examples: 1})
	w.until(t, "job", "in trouble", func(s flcollect.Status) bool {
		return bytes.Contains([]byte(s.Error), []byte("the parameters are not encrypted"))
	})
	leave()
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	require.Empty(t, w.untilState(t, "job", report.Finished).Error)
}

func TestServer_Run_resumesAnEncryptedJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Park: time.Hour})
	gate := make(chan struct{})
	waiting := func(flower.FitIns, *flower.FitRes) error {
		<-gate
		return nil
	}
	first := keeper{message: message(t, "none-first"), examples: 5, fit: waiting}
	require.NoError(t, w.Start(t.Context(), "job", sealed(2, 2)))
	w.join(t, first)
	w.join(t, keeper{message: message(t, "none-second"), examples: 7})
	gate <- struct{}{}
	w.until(t, "job", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
	go func() { gate <- struct{}{} }() // for the fit that is under way
	again := w.restart(t, flcollect.Config{})
	again.join(t, keeper{message: message(t, "none-first"), examples: 5, fit: func(ins flower.FitIns, _ *flower.FitRes) error {
		model, err := ins.Parameters.Bytes()
		if err == nil && !bytes.Contains(bytes.Join(model[0].Chunks(), nil), fixture(t, "seal", "none-sum")[residuesAt:][:4096]) {
			err = fmt.Errorf("it is not the model of round 1")
		}
		return err
	}})
	again.join(t, keeper{message: message(t, "none-second"), examples: 7})
	status := again.untilState(t, "job", report.Finished)
	require.Empty(t, status.Quarantined)
	result, err := again.Result(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, fixture(t, "seal", "none-sum")[residuesAt:], residues(t, result.Weights))
	rounds, err := again.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.True(t, rounds[1].Aggregated, rounds[1].Note)
}

func TestServer_Start_combinesBothMechanisms(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	conf := sealed(2, 2)
	conf.DPAdaptive = private(2).DPAdaptive
	require.NoError(t, w.Start(t.Context(), "job", conf))
	clipped := func(ins flower.FitIns, res *flower.FitRes) error {
		if ins.Config["dpfedavg_clip_norm"] == nil {
			return fmt.Errorf("no clip norm")
		}
		res.Metrics["dpfedavg_norm_bit"] = true
		return nil
	}
	w.join(t, keeper{message: message(t, "none-first"), examples: 5, fit: clipped})
	w.join(t, keeper{message: message(t, "none-second"), examples: 7, fit: clipped})
	status := w.untilState(t, "job", report.Finished)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.True(t, rounds[1].Aggregated, rounds[1].Note)
	require.Equal(t, epsilonAfter(t, 2), float64(status.Privacy.Epsilon))
	result, err := w.Result(t.Context(), "job")
	require.NoError(t, err)
	require.True(t, result.Encrypted)
	require.Equal(t, status.Privacy, result.Privacy)
	require.NotEqual(t, fixture(t, "seal", "none-sum")[residuesAt:], residues(t, result.Weights))
}

func TestServer_Start_refusesParametersWithoutRoom(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	conf := sealed(1, 1)
	conf.Homomorphic.ScaleBits = 20
	var field *ckks.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &field)
	require.Equal(t, "scale_bits", field.Field)
}
