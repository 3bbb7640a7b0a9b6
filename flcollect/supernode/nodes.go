package supernode

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// authorize returns the name of the node that calls.
func (s *Server) authorize(c *call, id uint64) (string, error) {
	if s.config.Authorize == nil {
		return "", nil
	}
	caller := Caller{Address: c.r.RemoteAddr, TLS: c.r.TLS, NodeID: id}
	if c.key != nil {
		caller.PublicKey = c.key.public
	}
	name, err := s.config.Authorize(c.ctx, caller)
	if err == nil {
		return name, nil
	}
	var known interface{ HTTPStatus() int }
	if errors.As(err, &known) && known.HTTPStatus() == http.StatusServiceUnavailable {
		return "", busy(err.Error())
	}
	return "", unauthenticated(err.Error(), c.method.starts)
}

// caller returns the node that calls. One that is not known goes on with a server that was
// restarted: its number follows from its key, or it is taken over from the request where
// the release does not sign.
func (s *Server) caller(c *call) (*Node, error) {
	id := c.request.node
	if c.key != nil && id != c.key.id {
		return nil, unauthenticated(fmt.Sprintf("The SuperNode says that it is node %d, and signs as node %d.", id, c.key.id), false)
	}
	if id <= 1 {
		return nil, unauthenticated("The request names no node.", false)
	}
	return s.resume(c, id)
}

// resume returns the node of that number, which becomes active if it is not.
func (s *Server) resume(c *call, id uint64) (*Node, error) {
	s.mu.Lock()
	node := s.nodes[id]
	s.mu.Unlock()
	if node != nil && node.key == nil && c.key != nil {
		node = nil // one that signs has the number by right
	}
	if node == nil {
		if c.method.name == "DeactivateNode" || c.method.name == "UnregisterNode" || c.method.name == "DeleteNode" {
			return nil, nil
		}
		made, err := s.activate(c, id, defaultInterval.Seconds(), false)
		if err != nil {
			return nil, err
		}
		s.config.Logger.Info("a SuperNode goes on", "node", made.String(), "address", c.r.RemoteAddr)
		return made, nil
	}
	switch {
	case node.key != nil && c.key == nil:
		return nil, unauthenticated("The request is not signed, and others of this node were.", false)
	case node.key != nil && !c.key.public.Equal(node.key.public):
		return nil, unauthenticated("Another SuperNode has this number.", false)
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	node.touchLocked()
	node.address = c.r.RemoteAddr
	if node.unfit != nil {
		return nil, unauthenticated(node.unfit.Error(), false)
	}
	return node, nil
}

// activate makes a node active. With fresh, the SuperNode has started: what it had of
// messages is lost.
func (s *Server) activate(c *call, id uint64, seconds float64, fresh bool) (*Node, error) {
	name, err := s.authorize(c, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, busy("The collector stops.")
	}
	node := s.nodes[id]
	if node != nil && node.key == nil && c.key != nil {
		defer node.leave(flower.ErrReplaced)
		delete(s.nodes, id)
		node = nil
	}
	if node == nil && len(s.nodes) >= s.config.MaxNodes {
		return nil, &refusal{http.StatusConflict, codes.ResourceExhausted, codeActivate,
			fmt.Sprintf("The collector has %d SuperNodes, no more are accepted.", len(s.nodes)), "a SuperNode was refused"}
	}
	if node == nil {
		node = &Node{s: s, id: id, key: c.key, known: make(chan struct{}),
			uploading: make(chan struct{}, 1), giveUp: func() {}}
		node.ctx, node.end = context.WithCancelCause(s.ctx)
		node.timer = time.AfterFunc(time.Hour, node.expire)
		s.nodes[id] = node
	}
	if node.key != nil && (c.key == nil || !c.key.public.Equal(node.key.public)) {
		return nil, unauthenticated("Another SuperNode has this number.", true)
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	node.name, node.address, node.release = name, c.r.RemoteAddr, c.version()
	if c.r.TLS != nil && len(c.r.TLS.VerifiedChains) > 0 {
		node.certs = c.r.TLS.VerifiedChains[0]
	}
	node.setIntervalLocked(seconds)
	if fresh {
		node.form = formUnknown // it may be another release
	}
	node.setFormLocked(c.form())
	node.unfit = nil
	s.handleLocked(node)
	if fresh {
		s.config.Logger.Debug("a SuperNode is active", "node", id, "address", c.r.RemoteAddr, "release", node.release)
	}
	return node, nil
}

func (n *Node) setIntervalLocked(seconds float64) {
	n.patience = 2*time.Duration(seconds*float64(time.Second)) + n.s.config.Grace
	n.touchLocked()
	n.timer.Reset(n.patience)
}

// version returns the release that the SuperNode says it has.
func (c *call) version() string {
	version := c.r.Header.Get(versionHeader)
	if len(version) > 32 {
		return ""
	}
	for _, b := range []byte(version) {
		if b <= ' ' || b > '~' {
			return ""
		}
	}
	return version
}

// form returns how the release carries messages, as far as the call shows it.
func (c *call) form() form {
	switch c.method.name {
	case "ActivateNode", "SendNodeHeartbeat", "PullObject", "PushObject", "ConfirmMessageReceived":
		return formObjects
	case "PullTaskIns", "PushTaskRes":
		return formTask
	case "Ping":
		if c.key != nil {
			return formWhole
		}
		return formTask
	}
	if !c.grpc || c.version() != "" { // 1.30 and later
		return formObjects
	}
	return formUnknown
}

// handleLocked calls Config.Handle for a node. The locks of server and node are held.
func (s *Server) handleLocked(n *Node) {
	if s.config.Handle == nil {
		return
	}
	if n.handled {
		return
	}
	n.handled = true
	s.work++
	go s.handle(n)
}

func (s *Server) handle(n *Node) {
	defer s.leave()
	err := s.config.Handle(n.ctx, n)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handled = false
	if errors.Is(err, flower.ErrUnfit) {
		n.unfit = err
	}
	s.config.Logger.Debug("a SuperNode is not handled any more", "node", n.id, "error", err)
}

// remove ends a node.
func (s *Server) remove(n *Node, cause error) {
	s.mu.Lock()
	if s.nodes[n.id] == n {
		delete(s.nodes, n.id)
	}
	n.end(cause) // before another may have its number
	s.mu.Unlock()
	n.leave(cause)
	s.config.Logger.Debug("a SuperNode is gone", "node", n.id, "cause", cause)
}

// newID draws a number for a node of a release that does not sign.
func newID() uint64 {
	for {
		var data [8]byte
		rand.Read(data[:]) // does not fail
		// Releases before 1.15 read numbers as signed.
		if id := binary.BigEndian.Uint64(data[:]) >> 1; id > 1 {
			return id
		}
	}
}
