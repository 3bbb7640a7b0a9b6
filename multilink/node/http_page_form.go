package node

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/settings"
)

// formView is a page with a form: what was entered, and what is wrong with it.
type formView struct {
	shell.Frame
	// Server is whether the instance is a server.
	Server bool
	Values url.Values
	// Fault is a sentence, At the field that it is about.
	Fault, At string
	Policies  []settings.Policy
	Kinds     []settings.Kind
	// Name is that of the link that is changed, empty for a new one.
	Name string
	// Links are the names of all links.
	Links []string
}

// Value returns what was entered in a field.
func (v *formView) Value(field string) string { return strings.TrimSpace(v.Values.Get(field)) }

// Is reports whether a box is checked.
func (v *formView) Is(field string) bool { return v.Values.Has(field) }

// number returns a number that was entered, zero for an empty field.
func (v *formView) number(field string) (float64, error) {
	text := v.Value(field)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, wrong(field, "want a number, got %.40q", text)
	}
	return n, nil
}

// form reads the form of a request. It is empty for a GET.
func (p *pages) form(w http.ResponseWriter, r *http.Request, title string) (*formView, error) {
	view := &formView{Server: p.node.config.Role == Server, Values: url.Values{}, Policies: settings.Policies(), Kinds: settings.Kinds()}
	view.Frame = p.part.Frame(r, title)
	for _, link := range p.node.now.Load().head.Links {
		view.Links = append(view.Links, link.Name)
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := r.ParseForm(); err != nil {
			return nil, wrong("", "the form cannot be read: %v", err)
		}
		view.Values = r.PostForm
	}
	return view, nil
}

// show shows a form, after an error with what is wrong. Failures of the server are not
// shown in it.
func (p *pages) show(w http.ResponseWriter, r *http.Request, name string, view *formView, err error) error {
	status := http.StatusOK
	if err != nil {
		f := refusal(err)
		if status = statusOf(f.kind); status >= http.StatusInternalServerError {
			return err
		}
		view.Fault, view.At = f.detail, f.field
		if f.field != "" {
			view.Fault = labelOf(f.field) + ": " + f.detail
		}
		view.Fault = sentence(view.Fault)
	}
	return p.part.Show(w, r, status, name, view)
}

// labelOf returns what the forms call a field of a request.
func labelOf(field string) string {
	name, _, _ := strings.Cut(field, "[")
	switch name {
	case "public_key":
		return "Public key"
	case "addresses":
		return "Address"
	case "probe.interval_ms":
		return "Probe every (ms)"
	case "wait_to_restore_ms":
		return "Wait to restore (ms)"
	case "hold_s":
		return "For (seconds)"
	}
	return field
}

// toHome returns the address of a topic of the first page, relative to a page that many steps
// below it.
func toHome(steps int, anchor string) string {
	return cmp.Or(strings.Repeat("../", steps), "./") + "#" + anchor
}

func (p *pages) newLink(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "New link")
	if err != nil {
		return err
	}
	return p.show(w, r, "link.html", view, nil)
}

func (p *pages) addLink(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "New link")
	if err != nil {
		return err
	}
	form := linkForm{Name: view.Value("name")}
	if err = view.link(&form); err == nil {
		_, err = p.node.addLink(r.Context(), form)
	}
	if err != nil {
		return p.show(w, r, "link.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "links"), "The link "+form.Name+" is added.")
}

// link puts what was entered into the settings of a link.
func (v *formView) link(form *linkForm) error {
	form.Interface, form.Kind, form.Metered = v.Value("interface"), settings.Kind(v.Value("kind")), v.Is("metered")
	if v.Server {
		form.Endpoint = v.Value("endpoint")
	}
	interval, err := v.number("probe.interval_ms")
	if err != nil {
		return err
	}
	form.Probe.Interval = interval
	return nil
}

func (p *pages) editLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	now := p.node.now.Load()
	at := now.link(name)
	if at < 0 {
		return absent("name", "no link %q is managed", name)
	}
	view, err := p.form(w, r, "Link "+name)
	if err != nil {
		return err
	}
	form := now.head.Links[at]
	view.Name = name
	view.Values = url.Values{"interface": {form.Interface}, "kind": {string(form.Kind)}, "endpoint": {form.Endpoint}}
	if form.Probe.Interval > 0 {
		view.Values.Set("probe.interval_ms", strconv.FormatFloat(form.Probe.Interval, 'f', -1, 64))
	}
	if form.Metered {
		view.Values.Set("metered", "on")
	}
	return p.show(w, r, "link.html", view, nil)
}

func (p *pages) changeLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	view, err := p.form(w, r, "Link "+name)
	if err != nil {
		return err
	}
	view.Name = name
	if _, err := p.node.changeLink(r.Context(), name, view.link); err != nil {
		return p.show(w, r, "link.html", view, err)
	}
	return shell.SeeOther(w, toHome(1, "links"), "The link "+name+" is changed.")
}

func (p *pages) disableLink(disabled bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		_, err := p.node.changeLink(r.Context(), name, func(form *linkForm) error {
			form.Disabled = disabled
			return nil
		})
		if err != nil {
			return err
		}
		text := "The link " + name + " is enabled."
		if disabled {
			text = "The link " + name + " is disabled: it carries nothing until it is enabled."
		}
		return shell.SeeOther(w, toHome(2, "links"), text)
	}
}

func (p *pages) deleteLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := p.node.deleteLink(r.Context(), name); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(2, "links"), "The link "+name+" is deleted.")
}

// moveLink moves a link by a place.
func (p *pages) moveLink(step int) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		now := p.node.now.Load()
		at := now.link(name)
		if at < 0 {
			return absent("name", "no link %q is managed", name)
		}
		var order []string
		for _, link := range now.head.Links {
			order = append(order, link.Name)
		}
		to := min(max(at+step, 0), len(order)-1)
		order[at], order[to] = order[to], order[at]
		if _, err := p.node.orderLinks(r.Context(), order); err != nil {
			return err
		}
		return shell.SeeOther(w, toHome(2, "links"), "The order of the links is "+strings.Join(order, ", ")+".")
	}
}

func (p *pages) policy(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	return p.show(w, r, "policy.html", view, nil)
}

// policyForm is the form of the policy, with the present values where none are entered.
func (p *pages) policyForm(w http.ResponseWriter, r *http.Request) (*formView, error) {
	view, err := p.form(w, r, "Policy")
	if err != nil || view.Values.Has("policy") {
		return view, err
	}
	bond := p.node.now.Load().head.Bond
	view.Values.Set("policy", string(bond.Policy))
	view.Values.Set("wait_to_restore_ms", strconv.FormatFloat(*bond.Wait, 'f', -1, 64))
	if *bond.Replay {
		view.Values.Set("replay", "on")
	}
	if !view.Values.Has("hold_s") {
		view.Values.Set("hold_s", "60")
	}
	return view, nil
}

func (p *pages) setPolicy(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	wait, err := view.number("wait_to_restore_ms")
	if err == nil {
		_, err = p.node.setBond(r.Context(), func(form *bondForm) error {
			replay := view.Is("replay")
			form.Policy, form.Wait, form.Replay = settings.Policy(view.Value("policy")), &wait, &replay
			return nil
		})
	}
	if err != nil {
		return p.show(w, r, "policy.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "status"), "The policy is "+view.Value("policy")+".")
}

// switchTo prefers a link for a time, or ends that.
func (p *pages) switchTo(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	link, text := view.Value("link"), ""
	if view.Is("end") {
		link, text = "", "The switch by hand has ended."
	}
	hold, err := view.number("hold_s")
	switch {
	case err != nil:
	case !view.Is("end") && link == "":
		err = wrong("link", "there is no link to switch to")
	case !(hold >= 0 && hold <= longestHold.Seconds()):
		err = wrong("hold_s", "want 0 to %.0f, got %v", longestHold.Seconds(), hold)
	default:
		err = p.node.switchTo(r.Context(), link, time.Duration(hold*float64(time.Second)))
	}
	if err != nil {
		return p.show(w, r, "policy.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "status"), cmp.Or(text, "Switched to "+link+"."))
}

func (p *pages) newClient(w http.ResponseWriter, r *http.Request) error {
	if err := p.node.config.only(Server); err != nil {
		return err
	}
	view, err := p.form(w, r, "New client")
	if err != nil {
		return err
	}
	return p.show(w, r, "client.html", view, nil)
}

// addClient answers with what the client needs to attach. It has secrets, and no page has
// them again.
func (p *pages) addClient(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "New client")
	if err != nil {
		return err
	}
	form := clientForm{Name: view.Value("name")}
	if key := view.Value("public_key"); key != "" {
		form.PublicKey = &key
	}
	if address := view.Value("addresses"); address != "" {
		form.Addresses = []string{address}
	}
	made, err := p.node.addClient(r.Context(), form)
	if err != nil {
		return p.show(w, r, "client.html", view, err)
	}
	made.Server = p.urlAt(r)
	object, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	shown := struct {
		shell.Frame
		Client, Object string
	}{p.part.Frame(r, "What the client needs"), made.Name, string(object)}
	return p.part.Show(w, r, http.StatusOK, "provision.html", &shown)
}

// urlAt returns the address of the instance for others.
func (p *pages) urlAt(r *http.Request) string {
	switch {
	case p.url != "":
		return p.url
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// clientKey returns the public key of the client with the name in a path.
func (p *pages) clientKey(r *http.Request) (name, key string, err error) {
	name = r.PathValue("name")
	clients := p.node.now.Load().clients
	at := slices.IndexFunc(clients, func(c *client) bool { return c.Name == name })
	if at < 0 {
		return name, "", absent("name", "no client is called %q", name)
	}
	return name, clients[at].PublicKey, nil
}

func (p *pages) enableClient(enabled bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, key, err := p.clientKey(r)
		if err != nil {
			return err
		}
		if _, _, err := p.node.enableClient(r.Context(), key, enabled); err != nil {
			return err
		}
		text := "The client " + name + " is enabled."
		if !enabled {
			text = "The client " + name + " is disabled, and cut off."
		}
		return shell.SeeOther(w, toHome(2, "clients"), text)
	}
}

func (p *pages) deleteClient(w http.ResponseWriter, r *http.Request) error {
	name, key, err := p.clientKey(r)
	if err != nil {
		return err
	}
	if err := p.node.deleteClient(r.Context(), key); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(2, "clients"), "The client "+name+" is deleted, and its keys are forgotten.")
}

func (p *pages) newAttachment(w http.ResponseWriter, r *http.Request) error {
	if err := p.node.config.only(Client); err != nil {
		return err
	}
	view, err := p.form(w, r, "Attach")
	if err != nil {
		return err
	}
	return p.show(w, r, "attach.html", view, nil)
}

// attach takes what a server has answered, and its URL. The page that says what is wrong
// does not have the object, which is secret, again.
func (p *pages) attach(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "Attach")
	if err != nil {
		return err
	}
	var object provision
	text := view.Value("object")
	view.Values.Del("object")
	if err = decode([]byte(text), &object, true); err == nil {
		object.Server = cmp.Or(view.Value("server"), object.Server)
		_, err = p.node.attach(r.Context(), object)
	}
	if err != nil {
		return p.show(w, r, "attach.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "clients"), "Attached to "+object.Server+".")
}

func (p *pages) detach(w http.ResponseWriter, r *http.Request) error {
	if err := p.node.detach(r.Context()); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(0, "clients"), "Detached: the keys are forgotten.")
}

// bytesText writes a number of bytes with three digits.
func bytesText(n uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	value, at := float64(n), 0
	for ; value >= 1000 && at < len(units)-1; at++ {
		value /= 1000
	}
	if at == 0 {
		return strconv.FormatUint(n, 10) + " B"
	}
	return threeDigits(value) + " " + units[at]
}

func millisecondsText(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return threeDigits(ms) + " ms"
}

func pathMTUText(length int) string {
	if length == 0 {
		return "–"
	}
	return strconv.Itoa(length) + " B"
}

func percentText(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) + " %" }

// threeDigits writes a number with three digits, or with those before its point.
func threeDigits(value float64) string {
	digits := 2
	for limit := 10.0; value >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(value, 'f', digits, 64)
}
