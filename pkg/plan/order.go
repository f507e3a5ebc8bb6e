package plan

import "slices"

// arrange gives each node the earliest place that its class and its needs permit.
func (b *builder) arrange() error {
	waiting := make([]int, len(b.nodes)) // for how many needs a node still waits
	wanted := make([][]int, len(b.nodes))
	var ready []int
	for i, n := range b.nodes {
		waiting[i] = len(n.needs)
		for _, on := range n.needs {
			wanted[on] = append(wanted[on], i)
		}
		if len(n.needs) == 0 {
			ready = append(ready, i)
		}
	}
	b.classify()
	done := 0
	for ; len(ready) > 0; done++ {
		i := ready[0]
		ready = ready[1:]
		for _, next := range wanted[i] {
			after := b.nodes[i].place
			after.step++
			if b.nodes[next].place.compare(after) < 0 {
				b.nodes[next].place = after
			}
			if waiting[next]--; waiting[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if done < len(b.nodes) {
		return b.cycles(waiting)
	}
	return nil
}

// classify puts each node at the beginning of its class.
func (b *builder) classify() {
	hasDefinitions := false
	for i := range b.nodes {
		n := &b.nodes[i]
		n.place.class = unknown
		if n.known() {
			n.place.class = classOf(n.GVK.GroupKind())
		}
		hasDefinitions = hasDefinitions || n.place.class == definitions
	}
	for i := range b.nodes {
		// Bindings come one step after their roles. If there is a phase of
		// definitions anyway, roles that can be in it save the bindings a step of
		// their own.
		n := &b.nodes[i]
		if hasDefinitions && len(n.needs) == 0 && n.known() && isRole(n.GVK.GroupKind()) {
			n.place.class = definitions
		}
	}
	b.networkFirst()
}

// phases groups the nodes by place. Within a phase they are in input order.
func (b *builder) phases() []Phase {
	at, count := map[place]int{}, map[place]int{}
	var places []place
	for i := range b.nodes {
		p := b.nodes[i].place
		if count[p]++; count[p] == 1 {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, place.compare)
	phases := make([]Phase, len(places))
	for i, p := range places {
		at[p] = i
		phases[i].Name, phases[i].Items = p.String(), make([]Item, 0, count[p])
	}
	for i := range b.nodes {
		phase := &phases[at[b.nodes[i].place]]
		phase.Items = append(phase.Items, b.nodes[i].Item)
	}
	return phases
}
