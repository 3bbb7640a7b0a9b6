package main

import (
	"net/http"
	"testing"

	"github.com/iotenablers/enablers/test/upgrade"
)

func TestRun_opensAFolderOfTheUndividedRooms(t *testing.T) {
	folder := upgrade.Folder(t, "undivided/modelrepo")
	for range 2 { // the second time on what the first one has written
		p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
		upgrade.Compare(t, upgrade.Comparison{Record: "undivided/modelrepo", URL: p.URLs[0]})
		p.Stop()
	}
	p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
	upgrade.Call(t, http.StatusOK, http.MethodPost, p.URLs[0]+"/acme/pump/0.2", "", "{}")
	upgrade.Call(t, http.StatusConflict, http.MethodDelete, p.URLs[0]+"/w3c/sosa/1.0/content?format=text/turtle", "", "")
	p.Stop()
}
