package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// The library picks map elements at random in several places, so two runs of
// the same scenario may put different endpoints in a slice or reuse a different
// name. An outcome keeps only what is meaningful in spite of that: which slices
// were written, how full they are, and what each port group holds.

type opCounts struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

func (c *opCounts) add(k call) {
	if k.failed {
		return
	}
	switch k.verb {
	case "create":
		c.Create++
	case "update":
		c.Update++
	case "delete":
		c.Delete++
	}
}

type outcome struct {
	Seen    int                   `json:"seen,omitempty"`
	Errors  []failure             `json:"errors,omitempty"`
	Counts  opCounts              `json:"counts"`
	Events  []event               `json:"events,omitempty"`
	Packing []packing             `json:"packing"`
	Groups  []*group              `json:"groups"`
	Doomed  map[string]*doomed    `json:"doomed,omitempty"`
	Hints   map[string]*hintTotal `json:"hints,omitempty"`
	Tracker *trackerView          `json:"tracker"`
	Settle  *opCounts             `json:"settle,omitempty"`
	Metrics *metricView           `json:"metrics,omitempty"`
}

// packing is how many slices a group ends with and how full they are.
type packing struct {
	AddressType string     `json:"addressType"`
	Ports       []portView `json:"ports"`
	Sizes       []int      `json:"sizes"`
}

// group gathers the final slices of one address type and one set of ports.
type group struct {
	AddressType string         `json:"addressType"`
	Ports       []portView     `json:"ports"`
	Slices      []*sliceView   `json:"slices"`
	Endpoints   []endpointView `json:"endpoints"`

	sizes []int
}

type sliceView struct {
	Fate        string            `json:"fate"` // unchanged, modified or fresh
	Name        string            `json:"name,omitempty"`
	Size        int               `json:"size"`
	Kept        []string          `json:"kept,omitempty"`
	Added       int               `json:"added"`
	Owned       bool              `json:"owned"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type doomed struct {
	Names    []string `json:"names"`
	Deleted  int      `json:"deleted"`
	Recycled int      `json:"recycled"`
}

type hintTotal struct {
	ByZone       map[string]int `json:"byZone,omitempty"`
	ByNode       map[string]int `json:"byNode,omitempty"`
	CrossZone    int            `json:"crossZone"`
	ReadyWithout int            `json:"readyWithout"`
	UnreadyWith  int            `json:"unreadyWith"`
}

type portView struct {
	Name        *string `json:"name"`
	Protocol    *string `json:"protocol"`
	Port        *int32  `json:"port"`
	AppProtocol *string `json:"appProtocol"`
}

type endpointView struct {
	Addresses   []string `json:"addresses"`
	Ready       *bool    `json:"ready"`
	Serving     *bool    `json:"serving"`
	Terminating *bool    `json:"terminating"`
	Hostname    *string  `json:"hostname"`
	NodeName    *string  `json:"nodeName"`
	Zone        *string  `json:"zone"`
	Target      string   `json:"target"` // Kind/namespace/name/uid
}

func asText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func viewPorts(ports []discoveryv1.EndpointPort) []portView {
	out := []portView{}
	for _, p := range ports {
		v := portView{Name: p.Name, Port: p.Port, AppProtocol: p.AppProtocol}
		if p.Protocol != nil {
			proto := string(*p.Protocol)
			v.Protocol = &proto
		}
		out = append(out, v)
	}
	sort.Slice(out, func(i, j int) bool { return asText(out[i]) < asText(out[j]) })
	return out
}

func targetText(ref *corev1.ObjectReference) string {
	if ref == nil {
		return ""
	}
	return strings.Join([]string{ref.Kind, ref.Namespace, ref.Name, string(ref.UID)}, "/")
}

func viewEndpoint(e discoveryv1.Endpoint) endpointView {
	addresses := append([]string{}, e.Addresses...)
	sort.Strings(addresses)
	return endpointView{
		Addresses: addresses,
		Ready:     e.Conditions.Ready, Serving: e.Conditions.Serving, Terminating: e.Conditions.Terminating,
		Hostname: e.Hostname, NodeName: e.NodeName, Zone: e.Zone, Target: targetText(e.TargetRef),
	}
}

// identity is the part of an endpoint by which desired and existing are matched.
func identity(e discoveryv1.Endpoint) string {
	addresses := append([]string{}, e.Addresses...)
	sort.Strings(addresses)
	hostname, ref := "", ""
	if e.Hostname != nil {
		hostname = *e.Hostname
	}
	if e.TargetRef != nil {
		ref = e.TargetRef.Namespace + "/" + e.TargetRef.Name
	}
	return strings.Join(addresses, ",") + "|" + hostname + "|" + ref
}

func describe(f *finished) *outcome {
	o := &outcome{
		Errors: f.errs, Events: f.events, Tracker: f.tracker, Settle: f.settle, Metrics: f.metrics,
		Packing: []packing{}, Groups: []*group{}, Doomed: map[string]*doomed{}, Hints: map[string]*hintTotal{},
	}
	updated, recycled := map[string]bool{}, map[string]bool{}
	condemned := func(name string) *doomed {
		addressType := string(f.initial[name].AddressType)
		if o.Doomed[addressType] == nil {
			o.Doomed[addressType] = &doomed{}
		}
		d := o.Doomed[addressType]
		d.Names = append(d.Names, name)
		return d
	}
	for _, c := range f.calls {
		o.Counts.add(c)
		if c.failed {
			continue
		}
		switch {
		case c.verb == "delete":
			condemned(c.name).Deleted++
		case c.verb == "update" && c.recycled:
			recycled[c.name] = true
			condemned(c.name).Recycled++
		case c.verb == "update":
			updated[c.name] = true
		}
	}
	for _, d := range o.Doomed {
		sort.Strings(d.Names)
	}

	groups := map[string]*group{}
	for _, s := range f.final {
		ports := viewPorts(s.Ports)
		key := string(s.AddressType) + asText(ports)
		g := groups[key]
		if g == nil {
			g = &group{AddressType: string(s.AddressType), Ports: ports, Endpoints: []endpointView{}}
			groups[key] = g
		}
		v := &sliceView{Size: len(s.Endpoints), Labels: s.Labels, Annotations: s.Annotations}
		for _, ref := range s.OwnerReferences {
			if ref.UID == f.owner && ref.Kind == "Service" && ref.APIVersion == "v1" {
				v.Owned = true
			}
		}
		switch {
		case f.made[s.Name] || recycled[s.Name]:
			v.Fate, v.Added = "fresh", len(s.Endpoints)
		default:
			v.Name, v.Fate = s.Name, "unchanged"
			if updated[s.Name] {
				v.Fate = "modified"
			}
			before := map[string]bool{}
			for _, e := range f.initial[s.Name].Endpoints {
				before[identity(e)] = true
			}
			for _, e := range s.Endpoints {
				if id := identity(e); before[id] {
					v.Kept = append(v.Kept, id)
				} else {
					v.Added++
				}
			}
			sort.Strings(v.Kept)
		}
		g.sizes = append(g.sizes, len(s.Endpoints))
		g.Slices = append(g.Slices, v)
		for _, e := range s.Endpoints {
			g.Endpoints = append(g.Endpoints, viewEndpoint(e))
		}
		countHints(o.Hints, s)
	}
	for _, g := range groups {
		sort.Sort(sort.Reverse(sort.IntSlice(g.sizes)))
		sort.Slice(g.Slices, func(i, j int) bool { return asText(g.Slices[i]) < asText(g.Slices[j]) })
		sort.Slice(g.Endpoints, func(i, j int) bool { return asText(g.Endpoints[i]) < asText(g.Endpoints[j]) })
		o.Groups = append(o.Groups, g)
	}
	sort.Slice(o.Groups, func(i, j int) bool {
		return o.Groups[i].AddressType+asText(o.Groups[i].Ports) < o.Groups[j].AddressType+asText(o.Groups[j].Ports)
	})
	for _, g := range o.Groups {
		o.Packing = append(o.Packing, packing{g.AddressType, g.Ports, g.sizes})
	}
	return o
}

// agreedKeys lists the parts in which all observed outcomes are the same.
func agreedKeys(outcomes []*outcome) []string {
	parts := []struct {
		name string
		of   func(*outcome) any
	}{
		{"errors", func(o *outcome) any { return o.Errors }},
		{"counts", func(o *outcome) any { return o.Counts }},
		{"events", func(o *outcome) any { return o.Events }},
		{"packing", func(o *outcome) any { return o.Packing }},
		{"groups", func(o *outcome) any { return o.Groups }},
		{"doomed", func(o *outcome) any { return o.Doomed }},
		{"hints", func(o *outcome) any { return o.Hints }},
		{"tracker", func(o *outcome) any { return o.Tracker }},
		{"settle", func(o *outcome) any { return o.Settle }},
		{"metrics", func(o *outcome) any { return o.Metrics }},
	}
	names := []string{}
	for _, part := range parts {
		same := true
		for _, o := range outcomes[1:] {
			same = same && asText(part.of(o)) == asText(part.of(outcomes[0]))
		}
		if same {
			names = append(names, part.name)
		}
	}
	return names
}

func countHints(all map[string]*hintTotal, s *discoveryv1.EndpointSlice) {
	for _, e := range s.Endpoints {
		ready := e.Conditions.Ready != nil && *e.Conditions.Ready
		t := all[string(s.AddressType)]
		if t == nil {
			t = &hintTotal{ByZone: map[string]int{}, ByNode: map[string]int{}}
			all[string(s.AddressType)] = t
		}
		if e.Hints == nil {
			if ready {
				t.ReadyWithout++
			}
			continue
		}
		if !ready {
			t.UnreadyWith++
		}
		for _, z := range e.Hints.ForZones {
			t.ByZone[z.Name]++
			if e.Zone == nil || *e.Zone != z.Name {
				t.CrossZone++
			}
		}
		for _, n := range e.Hints.ForNodes {
			t.ByNode[n.Name]++
		}
	}
}

// exact is the first run in full: the objects as the reconciler sent them and
// the slices left in the store. Generated names become "<generateName>#<n>".
type exact struct {
	Creates []*discoveryv1.EndpointSlice `json:"creates"`
	Updates []*discoveryv1.EndpointSlice `json:"updates"`
	Deletes []string                     `json:"deletes"`
	Final   []*discoveryv1.EndpointSlice `json:"final"`
	Wording []string                     `json:"wording,omitempty"` // texts of errors and events
}

func describeExact(f *finished) *exact {
	x := &exact{
		Creates: []*discoveryv1.EndpointSlice{}, Updates: []*discoveryv1.EndpointSlice{},
		Deletes: []string{}, Final: []*discoveryv1.EndpointSlice{}, Wording: f.texts,
	}
	type made struct {
		name string
		obj  *discoveryv1.EndpointSlice
	}
	var created []made
	for _, c := range f.calls {
		if c.failed {
			continue
		}
		switch c.verb {
		case "create":
			created = append(created, made{c.name, tidy(c.sent)})
		case "update":
			x.Updates = append(x.Updates, tidy(c.sent))
		case "delete":
			x.Deletes = append(x.Deletes, c.name)
		}
	}
	sort.SliceStable(created, func(i, j int) bool { return asText(created[i].obj) < asText(created[j].obj) })
	renamed := map[string]string{}
	for i, c := range created {
		renamed[c.name] = fmt.Sprintf("%s#%03d", c.obj.GenerateName, i+1)
		x.Creates = append(x.Creates, c.obj)
	}
	for _, s := range f.final {
		t := tidy(s)
		if to, ok := renamed[t.Name]; ok {
			t.Name = to
			t.UID = ""
		}
		x.Final = append(x.Final, t)
	}
	sort.Slice(x.Updates, func(i, j int) bool { return x.Updates[i].Name < x.Updates[j].Name })
	sort.Strings(x.Deletes)
	sort.Slice(x.Final, func(i, j int) bool { return x.Final[i].Name < x.Final[j].Name })
	return x
}

func tidy(in *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	s := in.DeepCopy()
	s.ResourceVersion = ""
	sort.SliceStable(s.Ports, func(i, j int) bool { return asText(s.Ports[i]) < asText(s.Ports[j]) })
	sort.SliceStable(s.Endpoints, func(i, j int) bool {
		return asText(viewEndpoint(s.Endpoints[i])) < asText(viewEndpoint(s.Endpoints[j]))
	})
	return s
}
