package weather

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// pack compresses a table as the data set is compressed.
func pack(t *testing.T, table string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(w, table)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.Bytes()
}

func TestDecode_endsWithOneErrorThatNamesTheRow(t *testing.T) {
	const header = "origin,time_hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib\n"
	const row = "EWR,2013-01-01T06:00:00Z,1,2,3,4,5,NA,7,8,9\n"
	for name, c := range map[string]struct {
		data []byte
		rows int
		want string
	}{
		"not gzip":  {[]byte("origin"), 0, "open observations"},
		"no header": {pack(t, ""), 0, "read header of observations: EOF"},
		"short row": {pack(t, header+row+"EWR,2013\n"), 1, "read observation at line 3"},
		"short table": {pack(t, "origin,time_hour\nEWR,2013-01-01T06:00:00Z\n"), 0,
			"read observation at line 2: 2 columns, want 11"},
		"time unknown": {pack(t, header+"EWR,noon,1,2,3,4,5,NA,7,8,9\n"), 0,
			`read observation at line 2: parsing time "noon"`},
		"cut off": {compressed[:len(compressed)/2], -1, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			var rows int
			var errs []error
			for _, err := range decode(bytes.NewReader(c.data)) {
				if err != nil {
					errs = append(errs, err)
				} else {
					rows++
				}
			}
			require.Len(t, errs, 1)
			require.ErrorContains(t, errs[0], c.want)
			if c.rows >= 0 {
				require.Equal(t, c.rows, rows)
			}
		})
	}
}
