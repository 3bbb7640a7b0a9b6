package escape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/escape"
)

func TestAppendIRI_encodesEverythingButUnreservedCharacters(t *testing.T) {
	for value, want := range map[string]string{
		"a-B.9_~": "a-B.9_~", "a b/c?d#e%f": "a%20b%2Fc%3Fd%23e%25f", "żółw": "żółw", "\xff": "%FF", "\uE000": "%EE%80%80",
	} {
		require.Equal(t, want, string(escape.AppendIRI(nil, []byte(value))), value)
	}
}

func TestAppendURI_encodesEveryCharacterBeyondASCII(t *testing.T) {
	require.Equal(t, "%C5%BC%2F", string(escape.AppendURI(nil, []byte("ż/"), false)))
	require.Equal(t, "%C5%BC/", string(escape.AppendURI(nil, []byte("ż/"), true)))
}

func TestAppendLabel_givesDifferentValuesDifferentLabels(t *testing.T) {
	seen := map[string]string{}
	for _, value := range []string{"", "a", "_", "_5F", "a b", "a_20b", "ż", "\xc5", "A", "1"} {
		label := string(escape.AppendLabel(nil, []byte(value)))
		other, clash := seen[label]
		require.False(t, clash, "%q and %q", value, other)
		seen[label] = value
	}
}

func TestAppendLiteral_escapesWithoutQuotes(t *testing.T) {
	require.Equal(t, `say \"hi\"\n`, string(escape.AppendLiteral(nil, []byte("say \"hi\"\n"))))
}
