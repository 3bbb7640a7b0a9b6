package supernode

import (
	"errors"
	"sync"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// ErrLost is returned for an instruction that the SuperNode received several times, and
// each time asked for the next one without an answer: its process or its app crashed, or
// it could not send the answer.
var ErrLost = errors.New("supernode: the SuperNode has lost the instruction")

const (
	mostLost  = 3  // times that a node may receive a message and lose it
	mostGiven = 20 // times that a node is sent a message
)

// dispatch is a message for a node, and what comes of it.
type dispatch struct {
	run     *Run
	message record.Message // its MessageID is that of its object
	tree    record.Tree
	objects []record.Object
	expect  int64 // bytes of the answer, as an estimate

	// Guarded by the node.
	given     int  // how often the node was sent it
	lost      int  // how often the node had it, and asks again
	confirmed bool // the node has it
	deep      bool // the node has asked for more than the objects directly below the message
	answer    *answer

	once sync.Once
	done chan struct{} // closed at the end
	err  error         // why there is no answer
	got  *reply
}

// reply is an answer that is there, as it was received.
type reply struct {
	// read makes the message of it.
	read    func() (record.Message, error)
	release func()
}

// newDispatch returns a message with its objects.
func newDispatch(run *Run, message record.Message, expect int64) (*dispatch, error) {
	tree, objects, err := record.Deflate(message)
	if err != nil {
		return nil, err
	}
	message.Metadata.MessageID = tree.ID
	return &dispatch{run: run, message: message, tree: tree, objects: objects, expect: expect, done: make(chan struct{})}, nil
}

// isDeep reports whether an object is neither the message nor directly below it.
func (d *dispatch) isDeep(id string) bool {
	if id == d.tree.ID {
		return false
	}
	for _, child := range d.tree.Children {
		if id == child.ID {
			return false
		}
	}
	return true
}

// hasDeep reports whether the message has such objects.
func (d *dispatch) hasDeep() bool {
	for _, child := range d.tree.Children {
		if len(child.Children) > 0 {
			return true
		}
	}
	return false
}

// object returns the content of an object of the message.
func (d *dispatch) object(id string) (flower.Blob, bool) {
	for _, object := range d.objects {
		if object.ID == id {
			return object.Content, true
		}
	}
	return nil, false
}

// fail ends the work on the message without an answer.
func (d *dispatch) fail(cause error) { d.finish(nil, cause) }

// finish ends the dispatch, once. A reply that comes too late is released.
func (d *dispatch) finish(got *reply, err error) {
	used := false
	d.once.Do(func() {
		used = true
		d.got, d.err = got, err
		close(d.done)
	})
	if !used && got != nil {
		got.release()
	}
}
