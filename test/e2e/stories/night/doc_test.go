// Package night_test is the story of a page at 3 a.m.: the commands of docs/at-3-am.md find out who
// scaled the shop, why it rolled, what was deleted, and which tools are still fighting.
package night_test
