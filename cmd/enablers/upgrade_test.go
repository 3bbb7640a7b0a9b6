package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/upgrade"
)

func TestRun_opensAFolderOfTheUndividedRooms(t *testing.T) {
	folder := upgrade.Folder(t, "undivided/enablers")
	for range 2 { // the second time on what the first one has written
		p := start(t, "-data", folder)
		for url, want := range map[string]string{
			p.web + "/channels":    `"weather"`,
			p.models + "/":         `"w3c"`,
			p.collector + "/model": `"uploaded"`,
			p.admin + "/consumers": `"reader"`,
			p.portal + "/auth/realms/OpenAPI/.well-known/openid-configuration": `"issuer"`,
		} {
			require.Contains(t, upgrade.Call(t, http.StatusOK, http.MethodGet, url, "", ""), want)
		}
		require.NoError(t, p.Stop())
	}
}
