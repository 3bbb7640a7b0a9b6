package supernode

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/flcollect/record"
)

// maxText bounds a text of a request, in bytes.
const maxText = 4096

// request is what a SuperNode sends, of any call. Fields that the call does not have are
// zero.
type request struct {
	node      uint64
	publicKey string
	interval  float64
	run       uint64
	id        string // of an object, a message or a FAB
	session   string
	content   flower.Blob   // of an object
	messages  []flower.Blob // at most one
	trees     []flower.Blob // at most one
}

// decodeRequest decodes the request of a call. What it returns refers to the body.
func decodeRequest(method string, body flower.Blob) (request, error) {
	var q request
	fields := q.fields(method)
	err := wire.NewReader(body).Fields(func(field protowire.Number, v wire.Value) error {
		if use := fields[field]; use != nil {
			return use(v)
		}
		return nil
	})
	if err != nil {
		return request{}, fmt.Errorf("%s: %w", method, err)
	}
	return q, nil
}

// fields returns what each field of a request is.
func (q *request) fields(method string) map[protowire.Number]func(wire.Value) error {
	type fields = map[protowire.Number]func(wire.Value) error
	node, run := nodeField(&q.node), numberField(&q.run)
	switch method {
	case "RegisterNode":
		return fields{1: textField(&q.publicKey)}
	case "ActivateNode":
		return fields{1: textField(&q.publicKey), 2: doubleField(&q.interval)}
	case "DeactivateNode", "UnregisterNode":
		return fields{1: numberField(&q.node)}
	case "CreateNode":
		return fields{1: doubleField(&q.interval)}
	case "SendNodeHeartbeat", "Ping":
		return fields{1: node, 2: doubleField(&q.interval)}
	case "PushMessages":
		return fields{1: node, 2: onceField(&q.messages), 3: onceField(&q.trees)}
	case "PushTaskRes":
		return fields{1: node, 2: onceField(&q.messages)}
	case "GetRun":
		return fields{1: node, 2: run}
	case "GetFab":
		return fields{1: node, 2: textField(&q.id), 3: run}
	case "PushObject":
		return fields{1: node, 2: run, 3: textField(&q.id), 4: blobField(&q.content), 5: textField(&q.session)}
	case "PullObject", "ConfirmMessageReceived":
		return fields{1: node, 2: run, 3: textField(&q.id)}
	}
	return fields{1: node} // DeleteNode, PullMessages, PullTaskIns
}

func numberField(into *uint64) func(wire.Value) error {
	return func(v wire.Value) (err error) {
		*into, err = v.Uint()
		return err
	}
}

func doubleField(into *float64) func(wire.Value) error {
	return func(v wire.Value) (err error) {
		*into, err = v.Double()
		return err
	}
}

func textField(into *string) func(wire.Value) error {
	return func(v wire.Value) (err error) {
		if v.Number > maxText {
			return fmt.Errorf("text of %d bytes, at most %d are read", v.Number, maxText)
		}
		*into, err = v.Text()
		return err
	}
}

func blobField(into *flower.Blob) func(wire.Value) error {
	return func(v wire.Value) (err error) {
		*into, err = v.View()
		return err
	}
}

// onceField reads a repeated field of which there is at most one.
func onceField(into *[]flower.Blob) func(wire.Value) error {
	return func(v wire.Value) error {
		if len(*into) == 1 {
			return fmt.Errorf("more than one, which no SuperNode sends")
		}
		blob, err := v.View()
		*into = append(*into, blob)
		return err
	}
}

// nodeField reads the message by which a request names its node.
func nodeField(into *uint64) func(wire.Value) error {
	return func(v wire.Value) error {
		return v.Message(func(field protowire.Number, v wire.Value) (err error) {
			if field == 1 {
				*into, err = v.Uint()
			}
			return err
		})
	}
}

// A reply is built by a wire.Writer. Text of this package is UTF-8, so the errors of its
// methods do not occur, except for names from apps and jobs.

func numberReply(field protowire.Number, v uint64) flower.Blob {
	var w wire.Writer
	w.Uint(field, v)
	return w.Chunks()
}

// nodeReply is the answer to CreateNode.
func nodeReply(id uint64) flower.Blob {
	var w wire.Writer
	w.Bytes(1, numberReply(1, id))
	return w.Chunks()
}

// pulled is the answer to a request for a message, with one.
func pulled(message flower.Blob, tree *record.Tree) flower.Blob {
	var w wire.Writer
	w.Bytes(2, message)
	if tree != nil {
		w.Bytes(3, record.EncodeTree(*tree))
	}
	return w.Chunks()
}

// pushed is the answer to a message that a node sends: which of its objects are missing.
func pushed(id string, missing []string, session string) (flower.Blob, error) {
	var w wire.Writer
	err := w.Message(2, func(w *wire.Writer) error { return w.Text(1, id) })
	if err != nil {
		return nil, malformed(err)
	}
	for _, object := range missing {
		if err := w.Text(3, object); err != nil {
			return nil, err
		}
	}
	if err := w.Text(4, session); err != nil {
		return nil, err
	}
	return w.Chunks(), nil
}

// objectReply is the answer to a request for an object. It refers to the content.
func objectReply(content flower.Blob, found bool) flower.Blob {
	var w wire.Writer
	if found {
		w.Always(1, 1)
		w.Always(2, 1)
		w.Bytes(3, content)
	}
	return w.Chunks()
}

// fabReply is the answer to GetFab.
func fabReply(hash string, content []byte) (flower.Blob, error) {
	var w wire.Writer
	err := w.Message(1, func(w *wire.Writer) error {
		w.Bytes(2, flower.Blob{content})
		return w.Text(1, hash)
	})
	return w.Chunks(), err
}

// scalars adds a map of configuration values.
func scalars(w *wire.Writer, field protowire.Number, config flower.Config) error {
	for _, entry := range record.FromConfig(config) {
		err := w.Message(field, func(w *wire.Writer) error {
			if err := w.Text(1, entry.Name); err != nil {
				return err
			}
			return w.Message(2, func(w *wire.Writer) error { return scalar(w, entry.Value) })
		})
		if err != nil {
			return fmt.Errorf("value %q: %w", entry.Name, err)
		}
	}
	return nil
}

func scalar(w *wire.Writer, value any) error {
	switch v := value.(type) {
	case float64:
		w.AlwaysDouble(1, v)
	case uint64:
		w.Always(6, v)
	case int64:
		w.Always(8, protowire.EncodeZigZag(v))
	case int:
		w.Always(8, protowire.EncodeZigZag(int64(v)))
	case bool:
		w.Always(13, protowire.EncodeBool(v))
	case string:
		return w.AlwaysText(14, v)
	default:
		return fmt.Errorf("a run's configuration has no values of type %T", value)
	}
	return nil
}

// interval checks the interval of heartbeats.
func interval(seconds float64) (float64, error) {
	if math.IsNaN(seconds) || seconds < shortestInterval.Seconds() || seconds > longestInterval.Seconds() {
		return 0, &refusal{422, 3, codeInterval, fmt.Sprintf("The interval of heartbeats is %v s, expected %v to %v s.",
			seconds, shortestInterval.Seconds(), longestInterval.Seconds()), "a SuperNode was refused"}
	}
	return seconds, nil
}
