package supernode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// admit takes memory for the body of a request before it is read, of a node that may take
// part.
func (c *call) admit() error {
	s := c.s
	switch {
	case c.method.name == "PushObject":
		return s.admitObject(c)
	case c.method.name == "PushTaskRes":
		return s.admitTask(c)
	case c.method.name == "PushMessages" && s.sendsWhole(c.key):
		c.whole = true
		return s.admitWhole(c)
	case c.size <= smallBody:
		return nil
	case c.size > listBody:
		return tooLarge("The list of an answer's objects", c.size, listBody)
	}
	if _, err := s.resume(c, c.key.id); err != nil {
		return err
	}
	return c.hold(s.lists)
}

// admitWhole takes memory for an answer with its content: only of a node that works on a
// message, as long as it does, and one request at a time.
func (s *Server) admitWhole(c *call) error {
	n, err := s.resume(c, c.key.id)
	if err != nil {
		return err
	}
	d := n.working(0)
	c.awaited = func() bool { return d != nil && n.working(0) == d }
	if !c.awaited() {
		return nil
	}
	done, err := n.takeTurn(c)
	if err != nil {
		return err
	}
	return c.holdWhole(done)
}

// takeTurn waits until the earlier request of the node with an answer is over, which it
// gives up: the node has lost that connection.
func (n *Node) takeTurn(c *call) (done func(), err error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.ctx = ctx
	input := c.input
	n.mu.Lock()
	giveUp := n.giveUp
	n.giveUp = func() {
		cancel(flower.ErrGone)
		input.interrupt()
	}
	n.mu.Unlock()
	giveUp()
	select {
	case n.uploading <- struct{}{}:
		return func() {
			<-n.uploading
			cancel(nil)
		}, nil
	case <-ctx.Done():
		cancel(nil)
		return nil, busy("The request was given up.")
	}
}

// admitTask is admitWhole for Flower 1.13 and 1.14, whose requests are not signed, and name
// their node in what is not read yet: a host has as many requests as nodes that work.
func (s *Server) admitTask(c *call) error {
	host, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		return notRunning(0)
	}
	nodes := s.tasksAt(host)
	if len(nodes) == 0 {
		return notRunning(0)
	}
	works := func(n *Node) bool { return n.working(0) != nil }
	c.awaited = func() bool { return slices.ContainsFunc(nodes, works) }
	working := 0
	for _, n := range nodes {
		if works(n) {
			working++
		}
	}
	if working == 0 {
		return nil
	}
	s.mu.Lock()
	full := s.taskUploads[host] >= working
	if !full {
		s.taskUploads[host]++
	}
	s.mu.Unlock()
	if full {
		return busy("An earlier answer of the SuperNode is still read.")
	}
	return c.holdWhole(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.taskUploads[host]--; s.taskUploads[host] == 0 {
			delete(s.taskUploads, host)
		}
	})
}

// tasksAt returns the nodes of Flower 1.13 or 1.14 that are active at a host.
func (s *Server) tasksAt(host string) (nodes []*Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range s.nodes {
		node.mu.Lock()
		at, _, err := net.SplitHostPort(node.address)
		if err == nil && at == host && node.form == formTask {
			nodes = append(nodes, node)
		}
		node.mu.Unlock()
	}
	return nodes
}

// holdWhole takes memory for an answer with its content. Done is called at the end of the
// request.
func (c *call) holdWhole(done func()) error {
	err := c.hold(c.s.uploads)
	if err != nil {
		done()
		return err
	}
	c.done = done
	return nil
}

// isUnknown reports whether nothing has shown yet how the release carries messages, as after
// a restart of this server: Flower 1.15 to 1.18 may send an answer before anything else.
func (n *Node) isUnknown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.form == formUnknown
}

// sendsWhole reports whether the node sends messages with their content.
func (s *Server) sendsWhole(key *nodeKey) bool {
	s.mu.Lock()
	node := s.nodes[key.id]
	s.mu.Unlock()
	if node == nil {
		return false
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	return node.form == formWhole
}

// hold takes memory from a budget until the end of the request, or until what the body
// holds takes it over.
func (c *call) hold(from *budget) error {
	taken, err := from.acquire(c.ctx, c.size)
	if err != nil {
		return busy("The request was given up.")
	}
	c.release = taken.release
	return nil
}

// admitObject takes memory for an object. One that is not awaited is read and dropped, for
// the SuperNode reads no answer before it has sent its request.
func (s *Server) admitObject(c *call) error {
	n, err := s.resume(c, c.key.id)
	if err != nil {
		return err
	}
	n.mu.Lock()
	if n.current != nil {
		c.answer = n.current.answer
	}
	c.repeated = n.repeats
	n.mu.Unlock()
	if c.answer == nil {
		return nil
	}
	err = c.answer.begin(c.ctx, c.size)
	if errors.Is(err, errDropped) {
		c.answer, c.repeated = nil, false
		return nil
	}
	if err == nil {
		c.release = func() { c.answer.take(-c.size) }
	}
	return err
}

// pushMessages takes the head of an answer, and says which of its objects are missing.
func (c *call) pushMessages() (flower.Blob, error) {
	if len(c.request.messages) == 0 {
		return nil, malformed(errors.New("there is no message"))
	}
	if c.whole || len(c.request.trees) == 0 && c.node.isUnknown() {
		m, err := record.DecodeMessage(c.request.messages[0], record.Maps, record.Limits{Bytes: c.s.config.MaxMessage})
		return c.pushWhole(m, err)
	}
	if len(c.request.trees) == 0 {
		return nil, malformed(errors.New("there is no tree of objects"))
	}
	head, err := record.DecodeMessage(c.request.messages[0], record.Items, record.Limits{Bytes: listBody})
	if err != nil {
		return nil, malformed(err)
	}
	tree, err := record.DecodeTree(c.request.trees[0], record.Limits{})
	if err != nil {
		return nil, malformed(err)
	}
	d, err := c.answered(head)
	if d == nil || err != nil {
		return c.pushed(tree.ID, nil, err)
	}
	if head.Error != nil {
		c.node.answered(d, false)
		d.finish(&reply{read: func() (record.Message, error) { return head, nil }, release: func() {}}, nil)
		return c.pushed(tree.ID, nil, nil)
	}
	a := c.node.readAnswer(d, tree)
	if a == nil {
		return c.pushed(tree.ID, nil, nil)
	}
	if err := a.admit(c.ctx); err != nil {
		return nil, err
	}
	missing := a.lacks()
	if len(missing) == 0 {
		a.complete()
	}
	return c.pushed(tree.ID, missing, nil)
}

// pushed is the answer to a message, unless there is an error. The session that releases
// from 1.39 on repeat with each object is the ID of the message.
func (c *call) pushed(id string, missing []string, err error) (flower.Blob, error) {
	if err != nil {
		return nil, err
	}
	return pushed(id, missing, id)
}

// answered returns the message that an answer belongs to. It is nil if the answer is not
// awaited any more, which the SuperNode need not know.
func (c *call) answered(head record.Message) (*dispatch, error) {
	of := head.Metadata
	if of.Source != c.node.id {
		return nil, unauthenticated(fmt.Sprintf("The message is of node %d, and node %d sends it.", of.Source, c.node.id), false)
	}
	c.s.mu.Lock()
	run := c.s.runs[of.RunID]
	member := run != nil && run.members[c.node.id] != nil
	c.s.mu.Unlock()
	if !member {
		return nil, notRunning(of.RunID)
	}
	d := c.node.working(of.RunID)
	if d == nil || d.message.Metadata.MessageID != of.ReplyTo {
		c.s.config.Logger.Debug("an answer is not awaited any more", "node", c.node.id, "run", of.RunID)
		return nil, nil
	}
	return d, nil
}

// readAnswer returns the answer to a message with those objects, which goes on if it has
// begun. It is nil if the message was withdrawn meanwhile.
func (n *Node) readAnswer(d *dispatch, tree record.Tree) *answer {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != d {
		return nil
	}
	if a := d.answer; a != nil {
		if a.root == tree.ID && a.goesOn() {
			return a
		}
		a.drop()
	}
	d.answer = newAnswer(n, d, tree)
	return d.answer
}

func (a *answer) goesOn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.dropped
}

// pushObject takes an object of an answer.
func (c *call) pushObject() (flower.Blob, error) {
	if id := record.ID(c.request.content); id != c.request.id {
		return nil, malformed(fmt.Errorf("object %.64q has the SHA-256 %s", c.request.id, id))
	}
	c.release = nil
	if !c.answer.put(c.request.id, c.request.content, c.size) {
		return nil, nil
	}
	return numberReply(1, 1), nil
}

// whole returns the message as releases before 1.19 have it.
func (d *dispatch) whole(f form) (flower.Blob, error) {
	encode := record.EncodeTask
	if f == formWhole {
		encode = func(m record.Message) (flower.Blob, error) { return record.EncodeMessage(m, record.Maps) }
	}
	message, err := encode(d.message)
	if err != nil {
		return nil, err
	}
	return pulled(message, nil), nil
}

// pushTask takes an answer of Flower 1.13 or 1.14.
func (c *call) pushTask() (flower.Blob, error) {
	if len(c.request.messages) == 0 {
		return nil, malformed(errors.New("there is no task"))
	}
	m, err := record.DecodeTask(c.request.messages[0], record.Limits{Bytes: c.s.config.MaxMessage})
	return c.pushWhole(m, err)
}

// pushWhole takes an answer with its content, whose memory the body's charge covers.
func (c *call) pushWhole(m record.Message, err error) (flower.Blob, error) {
	if err != nil {
		return nil, malformed(err)
	}
	d, err := c.answered(m)
	if d == nil || err != nil {
		return c.pushed(m.Metadata.ReplyTo, nil, err)
	}
	c.node.answered(d, false)
	release := c.release
	if release == nil { // a small body takes no memory of the budget
		release = func() {}
	}
	c.release = nil
	d.finish(&reply{read: func() (record.Message, error) { return m, nil }, release: release}, nil)
	return c.pushed(m.Metadata.ReplyTo, nil, nil)
}

// wait returns the answer to a message, once it is there. When the context ends before,
// the message is withdrawn.
func (n *Node) wait(ctx context.Context, d *dispatch, left <-chan struct{}, why func() error) (*reply, error) {
	select {
	case <-d.done:
	case <-ctx.Done():
		d.fail(context.Cause(ctx))
	case <-left:
		d.fail(why())
	}
	n.withdraw(d)
	return d.got, d.err
}
