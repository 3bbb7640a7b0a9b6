package docpages

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("hello"), false)
	f.Add([]byte{0x1f, 0x8b, 8}, true)
	f.Fuzz(func(t *testing.T, data []byte, compressed bool) {
		var files Files
		err := files.unpack(bytes.NewReader(data), compressed)
		size := 0
		for name, content := range files.All() {
			require.False(t, strings.HasPrefix(name, "/") || strings.Contains("/"+name+"/", "/../"), name)
			size += len(content)
		}
		require.LessOrEqual(t, size, 4<<20)
		if err != nil {
			require.ErrorAs(t, err, new(*Error))
		}
	})
}

func FuzzRenderMarkdown(f *testing.F) {
	for _, text := range []string{"# A\n[b](c.md)", "<script>", "[a](javascript:x)", "![x](data:text/html,a)", "|a|\n|-|",
		"[a]: <b c.md>\n\n[a]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		_, html, err := newRenderer(GFM).render(source)
		if err != nil {
			return
		}
		lower := strings.ToLower(string(html))
		for _, bad := range []string{"<script", "<iframe", "<style", "<form", `href="javascript:`, `src="javascript:`} {
			require.NotContains(t, lower, bad)
		}
	})
}
