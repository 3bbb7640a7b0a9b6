package supernode

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

func FuzzDecodeRequest(f *testing.F) {
	all := methods()
	for i, m := range all {
		var w, node wire.Writer
		node.Uint(1, 5)
		switch m.name {
		case "PushObject":
			w.Bytes(1, node.Chunks())
			w.Uint(2, 7)
			w.Bytes(3, flower.Blob{[]byte("id")})
			w.Bytes(4, flower.Blob{[]byte("content")})
		case "ActivateNode":
			w.Bytes(1, flower.Blob{[]byte("key")})
			w.Double(2, 30)
		default:
			w.Bytes(1, node.Chunks())
			w.Uint(2, 7)
		}
		f.Add(byte(i), joined(w.Chunks()))
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		name := all[int(which)%len(all)].name
		whole, err := decodeRequest(name, flower.Blob{body})
		var shredded flower.Blob
		for _, b := range body {
			shredded = append(shredded, []byte{b})
		}
		again, errAgain := decodeRequest(name, shredded)
		require.Equal(t, err == nil, errAgain == nil)
		if err == nil {
			require.Equal(t, whole.node, again.node)
			require.Equal(t, whole.id, again.id)
			require.Equal(t, joined(whole.content), joined(again.content))
			require.LessOrEqual(t, len(whole.messages), 1)
		}
	})
}

func joined(b flower.Blob) []byte {
	var all []byte
	for _, chunk := range b {
		all = append(all, chunk...)
	}
	return all
}

func TestDecodeRequest_boundsTexts(t *testing.T) {
	var w wire.Writer
	w.Bytes(3, flower.Blob{make([]byte, maxText+1)})
	_, err := decodeRequest("PullObject", w.Chunks())
	require.ErrorContains(t, err, "at most 4096 are read")
	w = wire.Writer{}
	w.Bytes(2, flower.Blob{{1}})
	w.Bytes(2, flower.Blob{{1}})
	_, err = decodeRequest("PushMessages", w.Chunks())
	require.ErrorContains(t, err, "more than one")
}

func FuzzKeyring(f *testing.F) {
	f.Add("-----BEGIN PUBLIC KEY-----\nMA==\n-----END PUBLIC KEY-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parseKey(text)
		if err == nil {
			require.Greater(t, key.id, uint64(1))
		}
	})
}

func FuzzReadProject(f *testing.F) {
	f.Add([]byte("[project]\nname = 'a'\nversion = \"1\"\n[tool.flwr.app]\npublisher = \"b\"\n"))
	f.Add([]byte("x = [\n\"\"\"\n]\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if id, version, err := readProject(file); err == nil {
			require.NotContains(t, id+version, "\n")
		}
	})
}

func TestBudget_growth_isLentToOneAtATime(t *testing.T) {
	b := &budget{size: 100}
	first, err := b.acquire(t.Context(), 60)
	require.NoError(t, err)
	second, err := b.acquire(t.Context(), 40)
	require.NoError(t, err)
	third := b.reserve(10)
	require.NoError(t, first.grow(t.Context(), 30), "what does not fit is lent")
	grown := make(chan error, 1)
	go func() { grown <- second.grow(t.Context(), 30) }()
	require.NoError(t, first.grow(t.Context(), 30), "the one that has the loan goes on")
	select {
	case err := <-grown:
		require.Fail(t, "a second loan", "%v", err)
	default:
	}
	require.EqualValues(t, 160, b.inUse())
	first.release()
	require.NoError(t, <-grown)
	<-third.ready
	second.shrink(5)
	require.EqualValues(t, 15, b.inUse())
	second.release()
	second.release()
	third.release()
	require.Zero(t, b.inUse())
	require.Nil(t, b.over)
	large, err := b.acquire(t.Context(), 1000)
	require.NoError(t, err, "alone")
	waiting := b.reserve(1)
	waiting.release()
	large.release()
	require.Zero(t, b.inUse())
	require.Zero(t, b.waiting.Len())
}

func TestCompareVersions_ordersReleases(t *testing.T) {
	ordered := []string{"0.9", "1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.2", "1.10", "2"}
	for i, x := range ordered {
		for k, y := range ordered {
			got := compareVersions(x, y)
			switch {
			case i < k:
				require.Negative(t, got, "%s %s", x, y)
			case i > k:
				require.Positive(t, got, "%s %s", x, y)
			default:
				require.Zero(t, got)
			}
		}
	}
	require.Zero(t, compareVersions("1.0", "1.0.0"))
	require.Zero(t, compareVersions("1.01", "1.1"))
}
