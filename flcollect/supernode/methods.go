package supernode

import (
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// methods returns the calls of the Fleet API, of all releases.
func methods() []method {
	small := func(*Server) int64 { return smallBody }
	object := func(s *Server) int64 { return s.config.MaxObject + 1024 }
	whole := func(s *Server) int64 { return s.config.MaxMessage }
	return []method{
		{"RegisterNode", "register-node", true, small, (*call).registerNode},
		{"ActivateNode", "activate-node", true, small, (*call).activateNode},
		{"DeactivateNode", "deactivate-node", false, small, (*call).deactivateNode},
		{"UnregisterNode", "unregister-node", false, small, (*call).deactivateNode},
		{"SendNodeHeartbeat", "send-node-heartbeat", false, small, (*call).heartbeat},
		{"PullMessages", "pull-messages", false, small, (*call).pullMessages},
		{"PushMessages", "push-messages", false, whole, (*call).pushMessages},
		{"GetRun", "get-run", false, small, (*call).getRun},
		{"GetFab", "get-fab", false, small, (*call).getFab},
		{"PushObject", "push-object", false, object, (*call).pushObject},
		{"PullObject", "pull-object", false, small, (*call).pullObject},
		{"ConfirmMessageReceived", "confirm-message-received", false, small, (*call).confirm},
		{"CreateNode", "", true, small, (*call).createNode},
		{"DeleteNode", "", false, small, (*call).deactivateNode},
		{"Ping", "", false, small, (*call).heartbeat},
		{"PullTaskIns", "", false, small, (*call).pullMessages},
		{"PushTaskRes", "", false, whole, (*call).pushTask},
	}
}

// unsigned reports whether a call may come without a signature: those of Flower 1.13 and
// 1.14. The calls that they share with later releases are allowed too.
func (s *Server) unsigned(m *method) bool {
	switch m.name {
	case "CreateNode", "DeleteNode", "Ping", "PullTaskIns", "PushTaskRes", "GetRun", "GetFab":
		return true
	}
	return false
}

// registerNode answers a SuperNode without a key of its own, which made one. There is
// nothing to keep: the number follows from the key.
func (c *call) registerNode() (flower.Blob, error) {
	if err := c.checkKey(); err != nil {
		return nil, err
	}
	if _, err := c.s.authorize(c, c.key.id); err != nil {
		return nil, err
	}
	return numberReply(1, c.key.id), nil
}

// checkKey checks that a request is signed with the key that it names.
func (c *call) checkKey() error {
	named, err := parseKey(c.request.publicKey)
	if err != nil {
		return unauthenticated("The SuperNode is not authenticated: "+err.Error()+".", true)
	}
	if !named.public.Equal(c.key.public) {
		return unauthenticated("The request names another public key than it is signed with.", true)
	}
	return nil
}

func (c *call) activateNode() (flower.Blob, error) {
	if err := c.checkKey(); err != nil {
		return nil, err
	}
	seconds, err := interval(c.request.interval)
	if err != nil {
		return nil, err
	}
	if _, err := c.s.activate(c, c.key.id, seconds, true); err != nil {
		return nil, err
	}
	return numberReply(1, c.key.id), nil
}

// createNode activates a SuperNode of a release before 1.23.
func (c *call) createNode() (flower.Blob, error) {
	seconds, err := interval(c.request.interval)
	if err != nil {
		return nil, err
	}
	id := newID()
	if c.key != nil {
		id = c.key.id
	}
	node, err := c.s.activate(c, id, seconds, true)
	if err != nil {
		return nil, err
	}
	node.mu.Lock()
	node.created = true
	node.mu.Unlock()
	return nodeReply(id), nil
}

// deactivateNode ends a node that says goodbye. One that is not known has ended already.
func (c *call) deactivateNode() (flower.Blob, error) {
	if c.node != nil {
		c.s.remove(c.node, fmt.Errorf("%w: it was stopped", flower.ErrGone))
	}
	return nil, nil
}

func (c *call) heartbeat() (flower.Blob, error) {
	seconds, err := interval(c.request.interval)
	if err != nil {
		return nil, err
	}
	name, err := c.s.authorize(c, c.node.id)
	if err != nil {
		if asRefusal(err).status != http.StatusServiceUnavailable {
			c.s.remove(c.node, fmt.Errorf("%w: %w", flower.ErrGone, err))
		}
		return nil, err
	}
	c.node.mu.Lock()
	c.node.name = name
	c.node.setIntervalLocked(seconds)
	c.node.mu.Unlock()
	c.node.setForm(c.form())
	return numberReply(1, 1), nil
}

// pullMessages gives a node its next message.
func (c *call) pullMessages() (flower.Blob, error) {
	n := c.node
	n.setForm(c.form())
	d, err := n.next(c.ctx, c.s.config.Hold)
	switch {
	case errors.Is(err, flower.ErrStopped):
		return nil, busy("The collector stops.")
	case err != nil && n.ctx.Err() != nil:
		return nil, busy("The SuperNode was silent for too long.")
	case err != nil:
		return nil, busy("The request was given up.")
	case d == nil:
		return nil, nil
	}
	f, err := n.loadForm(c.ctx)
	if err != nil {
		return nil, busy("The request was given up.")
	}
	if f != formObjects {
		return d.whole(f)
	}
	head, err := record.EncodeHead(d.message)
	if err != nil {
		return nil, err
	}
	return pulled(head, &d.tree), nil
}

// getRun describes a run to a node that is in it.
func (c *call) getRun() (flower.Blob, error) {
	run, err := c.findRun()
	if err != nil {
		return nil, err
	}
	reply, err := run.describe()
	if err != nil {
		return nil, &refusal{http.StatusInternalServerError, codes.Internal, codeGetRun, err.Error(), "a run cannot be described"}
	}
	return reply, nil
}

// getFab sends an app to a node that is in a run of it. Releases before 1.15 do not name
// the run.
func (c *call) getFab() (flower.Blob, error) {
	var run *Run
	if c.request.run == 0 {
		run = c.s.runWith(c.node, c.request.id)
	} else {
		var err error
		if run, err = c.findRun(); err != nil {
			return nil, err
		}
	}
	if run == nil || run.app.Hash != c.request.id {
		return nil, &refusal{http.StatusNotFound, codes.NotFound, codeGetFab,
			fmt.Sprintf("Run %d has no app with the hash %.64q.", c.request.run, c.request.id), ""}
	}
	return fabReply(run.app.Hash, run.fab)
}

// findRun returns the run that a request names, if the node is in it.
func (c *call) findRun() (*Run, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	run := c.s.runs[c.request.run]
	if run == nil || run.members[c.node.id] == nil {
		return nil, notRunning(c.request.run)
	}
	return run, nil
}

// runWith returns a run of an app that the node is in, or nil.
func (s *Server) runWith(n *Node, hash string) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		if run.app.Hash == hash && run.members[n.id] != nil {
			return run
		}
	}
	return nil
}

// pullObject sends an object of the message that the node fetches.
func (c *call) pullObject() (flower.Blob, error) {
	d := c.node.fetching(c.request.run)
	if d == nil {
		return objectReply(nil, false), nil
	}
	content, found := d.object(c.request.id)
	if found && d.isDeep(c.request.id) {
		c.node.mu.Lock()
		d.deep = true
		c.node.mu.Unlock()
	}
	return objectReply(content, found), nil
}

// confirm notes that a node has all objects of a message. Flower 1.19 looks like
// 1.20 until then: it reads the tree of objects as a list of those directly below the message.
func (c *call) confirm() (flower.Blob, error) {
	d := c.node.working(c.request.run)
	if d == nil || d.message.Metadata.MessageID != c.request.id {
		return nil, notRunning(c.request.run)
	}
	c.node.mu.Lock()
	d.confirmed = true
	shallow := c.node.created && d.hasDeep() && !d.deep
	if d.deep {
		c.node.created = false // it is later than 1.19
	}
	c.node.mu.Unlock()
	if shallow {
		c.s.remove(c.node, fmt.Errorf("%w: a SuperNode of Flower 1.19, whose form of messages is not spoken", flower.ErrGone))
		return nil, unsupported("This collector speaks with flower-supernode of " + spoken + ", and this one is 1.19.")
	}
	return nil, nil
}
