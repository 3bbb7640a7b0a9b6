package ha_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/test/interop/load"
)

// check compares what each manager and its gateway have of every enabler with what was
// published. Gateways follow after a moment, and changes that a kill has left half done are
// finished or taken back after some seconds.
func (m *managers) check() {
	t := m.platform.t
	fault := m.compare()
	for late := time.After(load.Patience); fault != nil; fault = m.compare() {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-late:
			t.Fatal(fault)
		}
	}
	t.Logf("managers: %d of %d publishes confirmed, %d enablers, none half published; %d calls answered, %d broken",
		m.confirmed, m.wishes, len(m.published), m.calls, m.broken)
	t.Logf("managers: publishing went on after: %v; calls: %v", m.publishGaps, m.callGaps)
}

// compare returns what is not as it must be.
func (m *managers) compare() error {
	served := []string{}
	for _, name := range slices.Sorted(maps.Keys(m.published)) {
		var first int
		for at := range m.servers {
			revision, err := m.revision(at, name)
			switch {
			case err != nil:
				return fmt.Errorf("manager %d: enabler %s: %w", at, name, err)
			case !m.published[name].possible[revision]:
				return fmt.Errorf("manager %d: enabler %s: revision %d, possible are %v",
					at, name, revision, m.published[name].possible)
			case at == 0:
				first = revision
			case revision != first:
				return fmt.Errorf("enabler %s: revision %d at one manager, %d at the other", name, first, revision)
			}
		}
		if first != 0 {
			served = append(served, name)
		}
	}
	for at := range m.servers {
		if err := m.compareAll(at, served); err != nil {
			return fmt.Errorf("manager %d: %w", at, err)
		}
	}
	return nil
}

// compareAll looks for more than is to be in a catalogue and in the configuration of a gateway.
func (m *managers) compareAll(at int, served []string) error {
	var records []apimgmt.Record
	if err := m.read(m.servers[at].URL+"/OpenAPIDocumentation/?limit=100", &records); err != nil {
		return err
	}
	listed := []string{}
	for _, r := range records {
		listed = append(listed, r.Enabler)
	}
	slices.Sort(listed)
	if !slices.Equal(listed, served) {
		return fmt.Errorf("the catalogue lists %v, expected %v", listed, served)
	}
	var routes struct {
		Data []struct {
			Name string `json:"name"`
		} `json:"data"`
	}
	if err := m.read(m.admins[at]+"/routes?size=1000", &routes); err != nil {
		return err
	}
	if len(routes.Data) != len(served) { // each has one operation
		return fmt.Errorf("the gateway has the routes %v for %v", routes.Data, served)
	}
	return nil
}

// revision returns which revision of an enabler a manager has, 0 for none. Catalogue, definition
// and gateway have to agree, and to have the whole of it.
func (m *managers) revision(at int, enabler string) (int, error) {
	ctx := m.platform.t.Context()
	status, answer, err := m.call(m.gateways[at], enabler)
	if err != nil {
		return 0, err
	}
	record, err := m.at(m.servers[at].URL).Get(ctx, enabler)
	if errors.Is(err, apimgmt.ErrNotFound) {
		if status != http.StatusNotFound {
			return 0, fmt.Errorf("not in the catalogue, and the gateway answers %d %s", status, answer)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	revision := 0
	if _, err := fmt.Sscanf(record.Description, "revision %d", &revision); err != nil {
		return 0, fmt.Errorf("description %q: %w", record.Description, err)
	}
	if record.Version.Version != version(revision) || record.State != apimgmt.Published {
		return 0, fmt.Errorf("revision %d is version %s, %s", revision, record.Version.Version, record.State)
	}
	seen := map[string]bool{}
	for _, v := range record.Versions {
		if seen[v.Version] || (v.Version != record.Version.Version && v.State != apimgmt.Sunset) {
			return 0, fmt.Errorf("version %s is there twice, or is %s beside %s", v.Version, v.State, record.Version.Version)
		}
		seen[v.Version] = true
	}
	if status != http.StatusOK || answer != served(enabler, revision) {
		return 0, fmt.Errorf("revision %d in the catalogue, and the gateway answers %d %s", revision, status, answer)
	}
	if sum := sha256.Sum256(m.definition(enabler, revision)); record.SHA256 != hex.EncodeToString(sum[:]) {
		return 0, fmt.Errorf("revision %d in the catalogue has another checksum", revision)
	}
	var stored, uploaded any
	if err := m.read(m.servers[at].URL+"/OpenAPIDocumentation/"+enabler+"/definition", &stored); err != nil {
		return 0, err
	}
	if err := json.Unmarshal(m.definition(enabler, revision), &uploaded); err != nil {
		return 0, err
	}
	if !reflect.DeepEqual(stored, uploaded) {
		return 0, fmt.Errorf("the definition stored for revision %d is %v", revision, stored)
	}
	return revision, nil
}

// read gets JSON from a manager.
func (m *managers) read(address string, into any) error {
	ctx := m.platform.t.Context()
	token, err := m.access(ctx)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := m.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", address, answer.StatusCode, data)
	}
	return json.Unmarshal(data, into)
}
