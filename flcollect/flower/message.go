package flower

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Errors of the protocol.
var (
	// ErrProtocol is returned when the peer violates the protocol. The message
	// says how.
	ErrProtocol = errors.New("flower: protocol violated")
	// ErrTooLarge is returned for a message beyond the limit.
	ErrTooLarge = errors.New("flower: message too large")
	// ErrGone is returned when the peer left before it answered.
	ErrGone = errors.New("flower: the other side has left")
	// ErrTimeout is returned when an answer did not arrive in time.
	ErrTimeout = errors.New("flower: no answer in time")
)

// NumPy is the type of parameters whose tensors are .npy files.
const NumPy = "numpy.ndarray"

// Config is the configuration of an instruction, and metrics and properties of an
// answer. Values are float64, int64, uint64, bool, string or []byte; an int is
// sent as an int64. A uint64 is understood by Flower 1.12 and later only.
type Config = map[string]any

// Blob is bytes that may lie in several chunks.
type Blob [][]byte

// Len returns the number of bytes.
func (b Blob) Len() int {
	n := 0
	for _, chunk := range b {
		n += len(chunk)
	}
	return n
}

// Parameters are the parameters of a model as they are sent. The zero value is
// an empty model without a type.
type Parameters struct {
	// Type is the encoding of the tensors, such as [NumPy].
	Type string
	// Tensors are the encoded tensors. They must not be changed.
	Tensors []Blob
}

// FromTensors encodes a model as [NumPy]. The elements are not copied.
func FromTensors(model ...tensor.Tensor) Parameters {
	p := Parameters{Type: NumPy, Tensors: make([]Blob, len(model))}
	for i, t := range model {
		p.Tensors[i] = tensor.Encode(t)
	}
	return p
}

// Decode returns a model of type [NumPy]. Elements are views of the bytes where
// possible. The error names the tensor.
func (p Parameters) Decode() ([]tensor.Tensor, error) {
	if p.Type != NumPy {
		return nil, fmt.Errorf("decode parameters: type %q, expected %q", p.Type, NumPy)
	}
	model := make([]tensor.Tensor, len(p.Tensors))
	for i, file := range p.Tensors {
		t, err := tensor.Decode(file...)
		if err != nil {
			return nil, fmt.Errorf("decode tensor %d: %w", i, err)
		}
		model[i] = t
	}
	return model, nil
}

// FromBytes returns parameters of the given type, whose tensors are plain bytes. The
// elements are not copied.
func FromBytes(kind string, model ...tensor.Tensor) Parameters {
	p := Parameters{Type: kind, Tensors: make([]Blob, len(model))}
	for i, t := range model {
		p.Tensors[i] = t.Chunks()
	}
	return p
}

// Bytes returns the tensors of parameters of any type as vectors of bytes, which
// are views.
func (p Parameters) Bytes() ([]tensor.Tensor, error) {
	model := make([]tensor.Tensor, len(p.Tensors))
	for i, blob := range p.Tensors {
		t, err := tensor.New(tensor.Uint8, []int{blob.Len()}, blob...)
		if err != nil {
			return nil, fmt.Errorf("read tensor %d: %w", i, err)
		}
		model[i] = t
	}
	return model, nil
}

// Code is the result code of an instruction.
type Code int32

// The codes.
const (
	OK                          Code = 0
	GetPropertiesNotImplemented Code = 1
	GetParametersNotImplemented Code = 2
	FitNotImplemented           Code = 3
	EvaluateNotImplemented      Code = 4
)

// Status is the result of an instruction. The zero value is success.
type Status struct {
	// Code is OK or the kind of failure.
	Code Code
	// Message is free text.
	Message string
}

// StatusError is returned for an answer whose status is not OK.
type StatusError struct{ Status }

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("flower: the client answered with code %d: %s", e.Code, e.Message)
}

// Reason is why a client leaves.
type Reason int32

// The reasons.
const (
	ReasonUnknown           Reason = 0
	ReasonReconnect         Reason = 1
	ReasonPowerDisconnected Reason = 2
	ReasonWifiUnavailable   Reason = 3
	ReasonAck               Reason = 4
)

// instruction is what the server sends: one of the types that end in Ins.
type instruction interface{ instruct(*wire.Writer) error }

// answer is what a client sends: one of the types that end in Res.
type answer interface{ reply(*wire.Writer) error }

// ReconnectIns ends the session. Seconds is how long the client waits before it
// joins again; 0 means never.
type ReconnectIns struct{ Seconds int64 }

// GetPropertiesIns requests the client's properties.
type GetPropertiesIns struct{ Config Config }

// GetParametersIns requests the client's model.
type GetParametersIns struct{ Config Config }

// FitIns instructs the client to train the model.
type FitIns struct {
	// Parameters is the model.
	Parameters Parameters
	// Config is the configuration.
	Config Config
	// Digest has the parameters of the answer digested while they are received, which
	// makes [FitRes.Digest] cost nothing. It is not sent.
	Digest bool
}

// EvaluateIns instructs the client to evaluate the model.
type EvaluateIns struct {
	// Parameters is the model.
	Parameters Parameters
	// Config is the configuration.
	Config Config
}

// DisconnectRes is the answer to [ReconnectIns]. Most clients do not send it.
type DisconnectRes struct{ Reason Reason }

// PropertiesRes is the answer to [GetPropertiesIns].
type PropertiesRes struct {
	// Status is the client's result.
	Status Status
	// Properties are the client's properties.
	Properties Config
}

// held is memory that an answer refers to.
type held struct{ release func() }

// Release frees the memory of the answer. Its tensors must not be used
// afterwards. Every received answer must be released, or others are not
// admitted. A second call does nothing.
func (h *held) Release() {
	if h.release != nil {
		h.release()
		h.release = nil
	}
}

// OnRelease sets the function that frees the memory of an answer which another package
// has made. It is called once, by the first Release.
func (h *held) OnRelease(release func()) { h.release = release }

// ParametersRes is the answer to [GetParametersIns].
type ParametersRes struct {
	held
	// Status is the client's result.
	Status Status
	// Parameters is the client's model.
	Parameters Parameters
}

// FitRes is the answer to [FitIns].
type FitRes struct {
	held
	digest string // empty if it is not known
	// Status is the client's result.
	Status Status
	// Parameters is the trained model.
	Parameters Parameters
	// NumExamples is the number of examples that the client reports for training.
	// It is not checked here.
	NumExamples int64
	// Metrics are the client's metrics.
	Metrics Config
}

// Digest returns [Parameters.Digest] of the parameters. It must not be called after Release,
// unless FitIns.Digest was set and the answer came from a [Session].
func (r *FitRes) Digest() string {
	if r.digest != "" {
		return r.digest
	}
	return r.Parameters.Digest()
}

// EvaluateRes is the answer to [EvaluateIns].
type EvaluateRes struct {
	// Status is the client's result.
	Status Status
	// Loss is the model's loss on the client's data.
	Loss float32
	// NumExamples is the number of examples that the client reports for
	// evaluation. It is not checked here.
	NumExamples int64
	// Metrics are the client's metrics.
	Metrics Config
}
