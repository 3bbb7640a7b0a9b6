package desired

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"

	"github.com/iotenablers/enablers/multilink/settings"
)

func FuzzLink(f *testing.F) {
	f.Add([]byte(`{"name":"wlan0","kind":"wifi","priority":10,"endpoint":"203.0.113.9:51820",
			"probe":{"interval_ms":10,"multiplier":3},"metered":false,"quota_bytes":0}`))
	f.Add([]byte(`{"name":"a","endpoint":"[::1]:1","max_rtt_ms":1e308,"rate_bps":18446744073709551615,"listen":65535}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var form Link
		if Decode(data, &form, false) != nil {
			return
		}
		form.complete(nil)
		config, err := form.config(RoleServer)
		if err != nil {
			return
		}
		if err := config.Check(); err != nil {
			t.Fatalf("the plane would refuse what was taken: %v", err)
		}
		kept, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		var again Link
		if err := Decode(kept, &again, false); err != nil {
			t.Fatalf("what is stored cannot be read: %v", err)
		}
		if other, err := again.config(RoleServer); err != nil || other != config {
			t.Fatalf("stored %+v, read %+v, %v", config, other, err)
		}
	})
}

func FuzzClasses(f *testing.F) {
	f.Add([]byte(`[{"name":"c","match":[{"ethertype":"0x8892","vlan":5,"pcp":[6],"protocol":"udp",
			"source":"10.0.0.0/8","destination_ports":[53,"5000-5010"],"dscp":[46]}],"links":["wlan0"],"max_delay_ms":20}]`))
	f.Add([]byte(`[{"name":"a","replay":false,"match":[{"source":"::/0","ethertype":2048,"protocol":6}]}]`))
	priority := 1
	links := []Link{{Name: "wlan0", Priority: &priority}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var forms []Class
		if Decode(data, &forms, false) != nil {
			return
		}
		classes, err := classConfigs(forms, links)
		if err != nil {
			return
		}
		kept, err := json.Marshal(forms)
		if err != nil {
			t.Fatal(err)
		}
		var again []Class
		if err := Decode(kept, &again, false); err != nil {
			t.Fatalf("what is stored cannot be read: %v: %s", err, kept)
		}
		if other, err := classConfigs(again, links); err != nil || len(other) != len(classes) || (len(classes) > 0 &&
			!reflect.DeepEqual(normal(other), normal(classes))) {
			t.Fatalf("stored %+v, read %+v, %v", classes, other, err)
		}
	})
}

// normal does away with the difference between nothing and nil.
func normal(classes []settings.Class) string {
	data, _ := json.Marshal(classes)
	return string(data)
}

func FuzzBond(f *testing.F) {
	f.Add([]byte(`{"policy":"active-backup","replay":true,"wait_to_restore_ms":500}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var form Bond
		if Decode(data, &form, false) != nil {
			return
		}
		form.complete()
		if config, err := form.config(); err == nil && config.Check() != nil {
			t.Fatalf("the plane would refuse what was taken: %v", config.Check())
		}
	})
}

func FuzzAttach(f *testing.F) {
	f.Add([]byte(`{"name":"gw-1","public_key":"YAnz5TF+lXXJte14tji3zlMNftUL5R+ncM3Cb8pAxn4=",
			"private_key":"YAnz5TF+lXXJte14tji3zlMNftUL5R+ncM3Cb8pAxn4=",
			"server_public_key":"YAnz5TF+lXXJte14tji3zlMNftUL5R+ncM3Cb8pAxn4=","addresses":["10.9.0.2/24"],
			"links":[{"name":"a","endpoint":"1.2.3.4:5","psk":"YAnz5TF+lXXJte14tji3zlMNftUL5R+ncM3Cb8pAxn4="}],"server":"http://h"}`))
	own := newPrivateKey()
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Provision
		if Decode(data, &p, true) != nil {
			return
		}
		keys, err := p.check(own)
		if err != nil {
			return
		}
		public, err := keys.private.PublicKey()
		if err != nil || public.Base64() != p.PublicKey || len(keys.psk) != len(p.Links) {
			t.Fatalf("%+v was taken", p)
		}
	})
}

func FuzzAddresses(f *testing.F) {
	f.Add("10.9.0.2/24", "10.9.0.1/24")
	f.Add("2001:db8::2", "2001:db8::1/64")
	f.Add("10.0.0.0/31", "10.0.0.1/31")
	f.Fuzz(func(t *testing.T, asked, server string) {
		network, err := netip.ParsePrefix(server)
		if err != nil || !HostIn(network) {
			return
		}
		networks := []netip.Prefix{network}
		first, err := addressesFor(nil, networks, nil)
		if err == nil && (len(first) != 1 || !network.Masked().Contains(first[0].Addr()) ||
			first[0].Addr() == network.Addr() || !HostIn(first[0])) {
			t.Fatalf("%v was given in %v", first, network)
		}
		given, err := addressesFor([]string{asked}, networks, nil)
		if err == nil && (!network.Masked().Contains(given[0].Addr()) || given[0].Addr() == network.Addr()) {
			t.Fatalf("%v was taken in %v", given, network)
		}
	})
}
