package flower_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

func TestPeer_Label_isWhatCanBeShown(t *testing.T) {
	label := func(name string) string {
		return flower.Peer{Header: func(key string) string {
			require.Equal(t, "client-name", key)
			return name
		}}.Label()
	}
	require.Equal(t, "Ward 7 <b>", label("Ward 7 <b>"))
	for _, name := range []string{"", " padded", "two\nlines", "\x1b[31m", "Größe", strings.Repeat("x", flower.MaxName+1)} {
		require.Empty(t, label(name), "%q", name)
	}
	require.Empty(t, flower.Peer{}.Label())
}

func TestNewClient_refusesANameThatCannotBeShown(t *testing.T) {
	_, err := flower.NewClient(flower.ClientConfig{Target: "host:1", Trainer: silentTrainer{}, Name: "two\nlines"})
	require.ErrorContains(t, err, `Name is "two\nlines"`)
	_, err = flower.NewClient(flower.ClientConfig{Target: "host:1", Trainer: silentTrainer{}, Name: "clinic"})
	require.NoError(t, err)
}

// silentTrainer is never asked for anything.
type silentTrainer struct{ flower.Trainer }
