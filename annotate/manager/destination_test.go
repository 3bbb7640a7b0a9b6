package manager_test

import (
	"html"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/storage"
)

// unsaid are settings of a driver that does not say where their secrets go.
type unsaid struct{ annotate.Settings }

func (s unsaid) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	return unsaid{s.Settings.WithSecrets(secrets)}
}

// unsaidDriver makes a kind of broker of SPARQL stores whose settings are such.
type unsaidDriver struct{ annotate.SettingsDriver }

func (d unsaidDriver) Read(object []byte) (annotate.Settings, error) {
	s, err := d.SettingsDriver.Read(object)
	return unsaid{s}, err
}

func (d unsaidDriver) Check(annotate.Topic, annotate.TopicRole) error { return nil }

func (d unsaidDriver) Fields(role annotate.TopicRole) []annotate.Field {
	return d.SettingsDriver.(annotate.FormDriver).Fields(role)
}

// newStoreVisit opens the pages of a manager with outputs that are stores.
func newStoreVisit(t *testing.T) *visit {
	b := annotate.NewMemoryBroker(nil)
	c := managerConfig(b, storage.NewMemoryDocuments())
	stranger := sparql.Driver(b)
	stranger.Type, stranger.Member, stranger.Settings = "OTHER", "otherSettings", unsaidDriver{stranger.Settings}
	c.Drivers = append(c.Drivers, sparql.Driver(b), ngsild.Driver(b), stranger)
	m, _ := runManager(t, c)
	return &visit{t, m, b, http.StripPrefix("/ui/annotation", m.Page(nil))}
}

func TestManager_Page_sendsCredentialsOfStoresToNoOtherAddress(t *testing.T) {
	s := newStoreVisit(t)
	for kind, settings := range map[annotate.BrokerType]annotate.Settings{
		sparql.Type: sparql.Settings{Protocol: sparql.Update, URL: "https://store.example/a", User: leaks[2], Password: leaks[3]},
		ngsild.Type: ngsild.Settings{Mode: ngsild.Update, URL: "https://store.example/a", Token: leaks[3]},
		"OTHER":     unsaid{sparql.Settings{Protocol: sparql.Update, URL: "https://store.example/a", User: leaks[2], Password: leaks[3]}},
	} {
		c := config(string(kind))
		c.Output = annotate.Topic{Name: "https://example.org/", Broker: kind, Settings: settings}
		create(t, s.manager, c)
		page := "/channels/" + string(kind) + "/edit"
		form := fields(t, s.get(page).Body.String())
		field := "output." + string(kind) + "."
		s.connect(form)
		for _, address := range []string{
			"https://evil.example/a", "http://store.example/a", "https://store.example/mine", "https://store.example:444/a",
		} {
			form.Set(field+"url", address)
			form.Set("channel", string(kind))
			tested := s.post("/connections", form)
			require.Equal(t, http.StatusUnprocessableEntity, tested.Code, "%s: %s: %s", kind, address, tested.Body)
			require.Contains(t, html.UnescapeString(tested.Body.String()), "was given for another address")
			saved := s.post(page, form)
			require.Equal(t, http.StatusUnprocessableEntity, saved.Code, "%s: %s", kind, address)
			kept, err := s.manager.Get(string(kind))
			require.NoError(t, err)
			require.Equal(t, settings, kept.Output.Settings)
		}
		form = fields(t, s.get(page).Body.String())
		form.Set("name", "renamed")
		require.Equal(t, http.StatusSeeOther, s.post(page, form).Code)
		kept, err := s.manager.Get(string(kind))
		require.NoError(t, err)
		require.Equal(t, settings, kept.Output.Settings, "they stay with the address")
		form.Set(field+"protocol", sparql.GraphStore)
		form.Set(field+"mode", ngsild.Replace)
		form.Del("base") // the present state
		want := http.StatusSeeOther
		if kind == "OTHER" {
			want = http.StatusUnprocessableEntity
		}
		saved := s.post(page, form)
		require.Equal(t, want, saved.Code, "%s: %s", kind, saved.Body)
	}
}

func TestManager_Replace_keepsSecretsForTheirDestination(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, storage.NewMemoryDocuments()))
	made := config("secret")
	made.Output.Settings = account("h")
	create(t, m, made)
	c, err := m.Get("secret")
	require.NoError(t, err)
	next := masked(c.ChannelConfig)
	s := next.Output.Settings.(mqtt.Settings)
	s.Version = mqtt.Version311
	next.Output.Settings = s
	require.NoError(t, m.Replace(t.Context(), "secret", next))
	now, err := m.Get("secret")
	require.NoError(t, err)
	require.Equal(t, leaks[3], mqttOf(now.Output).Password)
	require.Equal(t, mqtt.Version311, mqttOf(now.Output).Version)
}
