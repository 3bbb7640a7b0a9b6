package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/upgrade"
)

func TestRun_opensAFolderOfAnEarlierVersion(t *testing.T) {
	t.Setenv("MULTILINK_TOKEN", "")
	for _, version := range []string{"undivided", "scrubbed"} {
		for role, args := range map[string][]string{
			"server": {"-role", "server", "-address", "10.15.0.1/24"},
			"client": {"-role", "client"},
		} {
			folder := upgrade.Folder(t, version+"/multilink-"+role)
			token, err := os.ReadFile(filepath.Join(folder, "token"))
			require.NoError(t, err)
			for range 2 { // the second time on what the first one has written
				p := upgrade.Start(t, run, 1, append(args, "-listen", "127.0.0.1:0", "-data", folder, "-allow", "nothing",
					"-tap", tapName(), "-log-level", "debug")...)
				upgrade.Compare(t, upgrade.Comparison{Record: version + "/multilink-" + role,
					URL: p.URLs[0], Token: strings.TrimSpace(string(token)),
					Ignored: []string{"state", "reason", "last_change", "tx_bytes", "rx_bytes", "listen", "links", "counters",
						"loss", "loss_tx", "loss_rx", "path_mtu"}})
				p.Stop()
			}
		}
	}
}

func TestRun_refusesTheFolderOfAnother(t *testing.T) {
	upgrade.Refuses(t, run, "multilink", "modelrepo", "-role", "client", "-listen", "127.0.0.1:0", "-allow", "nothing", "-tap", tapName())
}
