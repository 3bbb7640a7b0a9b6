package wg_test

import (
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"hash"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/iotenablers/enablers/multilink"
)

// noise is the state of a handshake, WireGuard's paper section 5.4.
type noise struct {
	t           *testing.T
	chain, hash [32]byte
}

func newNoise(t *testing.T, responder multilink.Key) *noise {
	n := &noise{t: t, chain: blake2s.Sum256([]byte("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"))}
	n.hash = n.chain
	n.mix([]byte("WireGuard v1 zx2c4 Jason@zx2c4.com"))
	n.mix(responder[:])
	return n
}

func (n *noise) mix(data []byte) { n.hash = blake2s.Sum256(append(n.hash[:], data...)) }

// key derives two keys: the first is the next chaining key.
func (n *noise) key(input []byte) (key []byte) {
	sum := func(key, data []byte) []byte {
		mac := hmac.New(func() hash.Hash { h, _ := blake2s.New256(nil); return h }, key)
		mac.Write(data)
		return mac.Sum(nil)
	}
	secret := sum(n.chain[:], input)
	first := sum(secret, []byte{1})
	n.chain = [32]byte(first)
	return sum(secret, append(first, 2))
}

func (n *noise) seal(key, text []byte) []byte {
	aead, err := chacha20poly1305.New(key)
	require.NoError(n.t, err)
	sealed := aead.Seal(nil, make([]byte, aead.NonceSize()), text, n.hash[:])
	n.mix(sealed)
	return sealed
}

// initiation returns the first message of a handshake by a client whose clock is at a time.
func initiation(t *testing.T, client, server multilink.Key, at time.Time) []byte {
	private, err := ecdh.X25519().NewPrivateKey(client[:])
	require.NoError(t, err)
	to, err := ecdh.X25519().NewPublicKey(server[:])
	require.NoError(t, err)
	ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	agree := func(k *ecdh.PrivateKey) []byte {
		secret, err := k.ECDH(to)
		require.NoError(t, err)
		return secret
	}
	n := newNoise(t, server)
	message := binary.LittleEndian.AppendUint32(nil, 1)
	message = binary.LittleEndian.AppendUint32(message, 77)
	public := ephemeral.PublicKey().Bytes()
	message = append(message, public...)
	n.mix(public)
	n.key(public)
	message = append(message, n.seal(n.key(agree(ephemeral)), private.PublicKey().Bytes())...)
	stamp := binary.BigEndian.AppendUint64(nil, 0x400000000000000a+uint64(at.Unix()))
	message = append(message, n.seal(n.key(agree(private)), binary.BigEndian.AppendUint32(stamp, 0))...)
	macKey := blake2s.Sum256(append([]byte("mac1----"), server[:]...))
	mac, err := blake2s.New128(macKey[:])
	require.NoError(t, err)
	mac.Write(message)
	return append(mac.Sum(message), make([]byte, 16)...)
}

func TestUnderlay_Open_acceptsAClientWhoseClockWasSetBack(t *testing.T) {
	key := newKey(t)
	called := newEnd(t, multilink.UnderlayConfig{}, nil)
	var calledInbox, callerInbox inbox
	toCaller, err := called.Open(multilink.TunnelPeer{PublicKey: publicKey(t, key)}, calledInbox.receive)
	require.NoError(t, err)

	// An earlier run of the client, in the future of the next one.
	socket, err := net.Dial("udp", called.at("127.0.0.1").String())
	require.NoError(t, err)
	defer socket.Close()
	_, err = socket.Write(initiation(t, key, called.public, time.Now().Add(24*time.Hour)))
	require.NoError(t, err)
	require.NoError(t, socket.SetReadDeadline(time.Now().Add(patience)))
	answer := make([]byte, 200)
	length, err := socket.Read(answer)
	require.NoError(t, err)
	require.Equal(t, []any{92, byte(2)}, []any{length, answer[0]}, "the answer to a call")

	caller := newEnd(t, multilink.UnderlayConfig{PrivateKey: key}, nil)
	toCalled, err := caller.Open(multilink.TunnelPeer{PublicKey: called.public, Endpoint: called.at("127.0.0.1")}, callerInbox.receive)
	require.NoError(t, err)
	requireCarries(t, toCalled, &calledInbox)
	requireCarries(t, toCaller, &callerInbox)

	// A session that is in use outlasts a call that was captured before.
	before := toCaller.Stats()
	require.False(t, before.Handshake.IsZero())
	for range 10 {
		_, err = socket.Write(initiation(t, key, called.public, time.Now().Add(-time.Hour)))
		require.NoError(t, err)
		requireCarries(t, toCaller, &callerInbox)
	}
	require.Equal(t, before.Handshake, toCaller.Stats().Handshake)
	require.Greater(t, toCaller.Stats().Sent, before.Sent)
}
