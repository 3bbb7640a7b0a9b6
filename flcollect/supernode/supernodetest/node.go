package supernodetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/flcollect/record"
)

// Register registers the node's key, as a SuperNode does that was given none.
func (c *Client) Register(ctx context.Context) error {
	var w wire.Writer
	w.Bytes(1, flower.Blob{c.publicKey})
	_, err := c.Call(ctx, "RegisterNode", w.Chunks())
	return err
}

// Activate makes the node active.
func (c *Client) Activate(ctx context.Context) error {
	var w wire.Writer
	w.Bytes(1, flower.Blob{c.publicKey})
	w.Double(2, c.config.Interval.Seconds())
	got, err := c.Call(ctx, "ActivateNode", w.Chunks())
	if err != nil {
		return err
	}
	return each(got, 1, func(v wire.Value) (err error) {
		c.id, err = v.Uint()
		return err
	})
}

// Create makes the node active, as releases before 1.23 do.
func (c *Client) Create(ctx context.Context) error {
	var w wire.Writer
	w.Double(1, c.config.Interval.Seconds())
	got, err := c.Call(ctx, "CreateNode", w.Chunks())
	if err != nil {
		return err
	}
	return each(got, 1, func(v wire.Value) error {
		return v.Message(func(_ protowire.Number, v wire.Value) (err error) {
			c.id, err = v.Uint()
			return err
		})
	})
}

// Deactivate ends the node.
func (c *Client) Deactivate(ctx context.Context) error {
	var w wire.Writer
	w.Uint(1, c.id)
	_, err := c.Call(ctx, "DeactivateNode", w.Chunks())
	return err
}

// Heartbeat sends a heartbeat, by the method "SendNodeHeartbeat", or "Ping" before 1.19.
func (c *Client) Heartbeat(ctx context.Context, method string) error {
	w := c.request()
	w.Double(2, c.config.Interval.Seconds())
	got, err := c.Call(ctx, method, w.Chunks())
	if err != nil {
		return err
	}
	success := false
	err = each(got, 1, func(v wire.Value) error {
		success = v.Number == 1
		return nil
	})
	if err == nil && !success {
		err = errors.New("supernodetest: the server does not know the node")
	}
	return err
}

// request begins a request that names the node and a run, if there is one.
func (c *Client) request(run ...uint64) *wire.Writer {
	var w, node wire.Writer
	node.Uint(1, c.id)
	w.Bytes(1, node.Chunks())
	for _, id := range run {
		w.Uint(2, id)
	}
	return &w
}

// each calls use for each value of a field.
func each(message flower.Blob, number protowire.Number, use func(wire.Value) error) error {
	return wire.NewReader(message).Fields(func(field protowire.Number, v wire.Value) error {
		if field == number {
			return use(v)
		}
		return nil
	})
}

// Task is a message that the node was sent.
type Task struct {
	// Head is the message without its content.
	Head record.Message
	// Tree names its objects.
	Tree record.Tree
}

// Ask requests the next message; nil means that there is none.
func (c *Client) Ask(ctx context.Context) (*Task, error) {
	got, err := c.Call(ctx, "PullMessages", c.request().Chunks())
	if err != nil {
		return nil, err
	}
	var task *Task
	err = each(got, 2, func(v wire.Value) (err error) {
		task = &Task{}
		task.Head, err = record.DecodeMessage(v.Chunks, record.Items, record.Limits{})
		return err
	})
	if err != nil || task == nil {
		return nil, err
	}
	err = each(got, 3, func(v wire.Value) (err error) {
		task.Tree, err = record.DecodeTree(v.Chunks, record.Limits{})
		return err
	})
	return task, err
}

// Object requests an object of the message that the node works on. It is nil if the
// server does not have it.
func (c *Client) Object(ctx context.Context, run uint64, id string) (flower.Blob, error) {
	w := c.request(run)
	if err := w.Text(3, id); err != nil {
		return nil, err
	}
	got, err := c.Call(ctx, "PullObject", w.Chunks())
	if err != nil {
		return nil, err
	}
	var content flower.Blob
	err = each(got, 3, func(v wire.Value) error {
		content = v.Chunks
		return nil
	})
	return content, err
}

// Fetch requests the objects of a message, and confirms it.
func (c *Client) Fetch(ctx context.Context, task *Task) (record.Message, error) {
	objects := map[string]flower.Blob{}
	run := task.Head.Metadata.RunID
	for id := range task.Tree.IDs() {
		content, err := c.Object(ctx, run, id)
		if err != nil {
			return record.Message{}, err
		}
		if content == nil || record.ID(content) != id {
			return record.Message{}, fmt.Errorf("supernodetest: object %s is not there, or another", id)
		}
		objects[id] = content
	}
	w := c.request(run)
	if err := w.Text(3, task.Tree.ID); err != nil {
		return record.Message{}, err
	}
	if _, err := c.Call(ctx, "ConfirmMessageReceived", w.Chunks()); err != nil {
		return record.Message{}, err
	}
	return record.Inflate(task.Tree.ID, func(id string) (flower.Blob, bool) {
		content, ok := objects[id]
		return content, ok
	}, record.Limits{})
}

// Announce sends the head of an answer, and returns the IDs of the objects that the
// server lacks, and the session.
func (c *Client) Announce(ctx context.Context, answer record.Message, tree record.Tree) (missing []string, session string, err error) {
	answer.Metadata.MessageID = tree.ID
	head, err := record.EncodeHead(answer)
	if err != nil {
		return nil, "", err
	}
	w := c.request()
	w.Bytes(2, head)
	w.Bytes(3, record.EncodeTree(tree))
	w.Bytes(4, flower.Blob{protowire.AppendFixed64(nil, 0)})
	got, err := c.Call(ctx, "PushMessages", w.Chunks())
	if err != nil {
		return nil, "", err
	}
	err = each(got, 3, func(v wire.Value) error {
		id, err := v.Text()
		missing = append(missing, id)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	err = each(got, 4, func(v wire.Value) (err error) {
		session, err = v.Text()
		return err
	})
	return missing, session, err
}

// Send sends an object of an answer, and reports whether the server has stored it.
func (c *Client) Send(ctx context.Context, run uint64, session, id string, content flower.Blob) (bool, error) {
	w := c.request(run)
	if err := w.Text(3, id); err != nil {
		return false, err
	}
	w.Bytes(4, content)
	if err := w.Text(5, session); err != nil {
		return false, err
	}
	got, err := c.Call(ctx, "PushObject", w.Chunks())
	stored := false
	if err == nil {
		err = each(got, 1, func(v wire.Value) error {
			stored = v.Number == 1
			return nil
		})
	}
	return stored, err
}

// Answer sends an answer with those of its objects that the server lacks, and returns how
// many those are.
func (c *Client) Answer(ctx context.Context, answer record.Message) (int, error) {
	tree, objects, err := record.Deflate(answer)
	if err != nil {
		return 0, err
	}
	missing, session, err := c.Announce(ctx, answer, tree)
	if err != nil {
		return 0, err
	}
	lacks := map[string]bool{}
	for _, id := range missing {
		lacks[id] = true
	}
	for _, object := range objects {
		if !lacks[object.ID] {
			continue
		}
		stored, err := c.Send(ctx, answer.Metadata.RunID, session, object.ID, object.Content)
		if err != nil {
			return 0, err
		}
		if !stored {
			return 0, fmt.Errorf("supernodetest: object %s was not stored", object.ID)
		}
	}
	return len(missing), nil
}

// Run answers messages until the context ends, whose error is not returned. An error of
// the app is an answer with an error.
func (c *Client) Run(ctx context.Context, app func(record.Message) (record.Dict, error)) error {
	for ctx.Err() == nil {
		if err := c.step(ctx, app); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (c *Client) step(ctx context.Context, app func(record.Message) (record.Dict, error)) error {
	task, err := c.Ask(ctx)
	if err != nil || task == nil {
		return err
	}
	message, err := c.Fetch(ctx, task)
	if err != nil {
		return err
	}
	content, err := app(message)
	answer := message.Reply(float64(time.Now().UnixMicro())/1e6, content)
	if err != nil {
		answer.Content, answer.Error = nil, &record.Error{Code: record.CodeAppRaised, Reason: err.Error()}
	}
	_, err = c.Answer(ctx, answer)
	return err
}

// Description is what the server says of a run.
type Description struct {
	// ID and Series are numbers.
	ID, Series uint64
	// App, Version and Hash are those of the app, and Status is "running".
	App, Version, Hash, Status string
	// Config replaces values of the app's configuration.
	Config flower.Config
}

// Description requests what a run is.
func (c *Client) Description(ctx context.Context, run uint64) (Description, error) {
	got, err := c.Call(ctx, "GetRun", c.request(run).Chunks())
	if err != nil {
		return Description{}, err
	}
	d := Description{Config: flower.Config{}}
	err = each(got, 1, func(v wire.Value) error {
		return v.Message(func(field protowire.Number, v wire.Value) (err error) {
			switch field {
			case 1:
				d.ID, err = v.Uint()
			case 2:
				d.App, err = v.Text()
			case 3:
				d.Version, err = v.Text()
			case 4:
				err = scalar(v, d.Config)
			case 5:
				d.Hash, err = v.Text()
			case 10:
				err = each(v.Chunks, 1, func(v wire.Value) (err error) {
					d.Status, err = v.Text()
					return err
				})
			case 18:
				d.Series, err = v.Uint()
			}
			return err
		})
	})
	return d, err
}

// scalar reads an entry of a map of scalars.
func scalar(v wire.Value, into flower.Config) error {
	key := ""
	return v.Message(func(field protowire.Number, v wire.Value) (err error) {
		if field == 1 {
			key, err = v.Text()
			return err
		}
		return v.Message(func(field protowire.Number, v wire.Value) (err error) {
			switch field {
			case 1:
				into[key], err = v.Double()
			case 8:
				into[key] = protowire.DecodeZigZag(v.Number)
			case 13:
				into[key] = v.Number == 1
			case 14:
				into[key], err = v.Text()
			}
			return err
		})
	})
}

// FAB requests the app of a run.
func (c *Client) FAB(ctx context.Context, run uint64, hash string) ([]byte, error) {
	w := c.request()
	if err := w.Text(2, hash); err != nil {
		return nil, err
	}
	w.Uint(3, run)
	got, err := c.Call(ctx, "GetFab", w.Chunks())
	if err != nil {
		return nil, err
	}
	var content []byte
	err = each(got, 1, func(v wire.Value) error {
		return each(v.Chunks, 2, func(v wire.Value) (err error) {
			content, err = v.Bytes()
			return err
		})
	})
	return content, err
}
