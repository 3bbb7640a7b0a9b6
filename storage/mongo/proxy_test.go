package mongo_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/mongo/mongotest"
)

// losing passes connections on to a server, and loses a message when it is
// told to.
type losing struct {
	uri string

	mu      sync.Mutex
	command string // whose next message is lost
	request bool   // the request, else the reply
	then    func() // runs when the message is lost
}

func newLosing(t *testing.T, server *mongotest.Server) *losing {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &losing{uri: "mongodb://" + listener.Addr().String()}
	var work sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); work.Wait() })
	work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { p.pass(client, server.Address()) })
		}
	})
	return p
}

// lose loses the next request or reply of a command, and its connection.
func (p *losing) lose(command string, request bool, then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command, p.request, p.then = command, request, then
}

// loses reports whether the message is the one to be lost.
func (p *losing) loses(message []byte, request bool) (bool, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const nameAt = 26 // in an OP_MSG: header, flags, kind, length, type
	if p.command == "" || p.request != request || len(message) < nameAt ||
		!bytes.HasPrefix(message[nameAt:], append([]byte(p.command), 0)) {
		return false, nil
	}
	p.command = ""
	return true, p.then
}

func (p *losing) pass(client net.Conn, target string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	for {
		request, err := message(client)
		if err != nil {
			return
		}
		if lost, then := p.loses(request, true); lost {
			run(then)
			return
		}
		if _, err := server.Write(request); err != nil {
			return
		}
		reply, err := message(server)
		if err != nil {
			return
		}
		if lost, then := p.loses(request, false); lost {
			run(then)
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

func run(then func()) {
	if then != nil {
		then()
	}
}

// message reads one message of the wire protocol, whose first four bytes are
// its length.
func message(r io.Reader) ([]byte, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, err
	}
	whole := make([]byte, binary.LittleEndian.Uint32(length))
	copy(whole, length)
	_, err := io.ReadFull(r, whole[4:])
	return whole, err
}
