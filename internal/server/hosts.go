package server

import (
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
)

const hostsUsage = "further `names` of this server, with commas between, such as models.example.org. " +
	"Requests over loopback connections are answered for IP addresses, localhost and these names only, " +
	"because the owner of any other name can point it here and have browsers send requests: " +
	"name what a reverse proxy on this machine forwards. A name with a scheme, such as https://app.example.org, " +
	"is the origin of pages that may use the interface besides those of this server, with a token where one is required"

// Hosts declares the flag hosts. The names are there once the flags are parsed;
// see httpapi.Options.Hosts.
func (f *Flags) Hosts(to *[]string) { f.Var((*hosts)(to), "hosts", hostsUsage) }

// hosts is the value of the flag.
type hosts []string

// String implements flag.Value.
func (h *hosts) String() string { return strings.Join(*h, ",") }

// Set implements flag.Value.
func (h *hosts) Set(text string) error {
	*h = nil
	for _, one := range Names(text) {
		if _, _, err := httpapi.ParseHost(one); err != nil {
			return err
		}
		*h = append(*h, one)
	}
	return nil
}
