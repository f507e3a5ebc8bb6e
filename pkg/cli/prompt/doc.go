// Package prompt asks the user on a terminal what is to become of conflicts, one by one.
//
// A Dialogue turns conflicts and typed answers into decisions, and the decisions into flags;
// it reads and writes by functions that it is given. A Terminal has one, and the call that it is
// about.
package prompt
