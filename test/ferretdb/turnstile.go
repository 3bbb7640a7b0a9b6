package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// turnstile passes MongoDB's wire protocol on to a server, one command at a
// time over all connections.
type turnstile struct {
	listener net.Listener
	target   string
	command  sync.Mutex // held from a request to its reply
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

// serve accepts connections until close.
func (t *turnstile) serve() {
	for {
		client, err := t.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", t.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !t.keep(client, server) {
			return
		}
		t.work.Go(func() {
			_ = t.pass(client, server) // the end of a connection is not an error
			_ = client.Close()
			_ = server.Close()
		})
	}
}

// keep notes the connections for close, which may have come before.
func (t *turnstile) keep(conns ...net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.conns = append(t.conns, conns...)
		return true
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	return false
}

func (t *turnstile) close() {
	_ = t.listener.Close()
	t.mu.Lock()
	t.closed = true
	for _, conn := range t.conns {
		_ = conn.Close()
	}
	t.mu.Unlock()
	t.work.Wait()
}

// pass passes requests and replies on until a connection ends.
func (t *turnstile) pass(client, server net.Conn) error {
	for {
		request, err := readMessage(client)
		if err != nil {
			return err
		}
		if err := t.exchange(client, server, request); err != nil {
			return err
		}
	}
}

// exchange runs one command. The reply is passed on after the next command may
// begin, so that a client that does not read holds up no other.
func (t *turnstile) exchange(client, server net.Conn, request []byte) error {
	reply, err := t.run(server, request)
	if err != nil || reply == nil {
		return err
	}
	_, err = client.Write(reply)
	return err
}

func (t *turnstile) run(server net.Conn, request []byte) (reply []byte, err error) {
	t.command.Lock()
	defer t.command.Unlock()
	if _, err := server.Write(request); err != nil || !wantsReply(request) {
		return nil, err
	}
	return readMessage(server)
}

// The header of a message, and where OP_MSG has its flags.
const (
	headerLength = 16
	opcodeAt     = 12
	opMsg        = 2013
	moreToCome   = 1 << 1 // in a request: no reply is wanted
	longest      = 256 << 20
)

// readMessage reads a whole message. Its first four bytes are its length.
func readMessage(r io.Reader) ([]byte, error) {
	header := make([]byte, headerLength)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(header)
	if length < headerLength || length > longest {
		return nil, errors.New("a message of an impossible length")
	}
	message := make([]byte, length)
	copy(message, header)
	_, err := io.ReadFull(r, message[headerLength:])
	return message, err
}

func wantsReply(request []byte) bool {
	if binary.LittleEndian.Uint32(request[opcodeAt:]) != opMsg || len(request) < headerLength+4 {
		return true
	}
	return binary.LittleEndian.Uint32(request[headerLength:])&moreToCome == 0
}
