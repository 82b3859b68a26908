//! `invoicing completions`: the scripts, queried as a shell would.

use std::process::Command;

use crate::place::{Place, Said};

/// Calls the script's function as bash does when Tab is pressed after these words.
const TAB: &str = r#"
source "$1" || exit
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$(complete -p invoicing | sed 's/.*-F \([^ ]*\).*/\1/')" invoicing "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[@]}"
"#;

#[test]
fn bash_completes_commands_options_and_values() {
    let place = Place::new();
    let script = place.run(&["completions", "bash"]);
    assert_eq!((script.code, script.errors.as_str()), (0, ""));
    place.write("script", &script.output);
    let path = place.path("script");
    let read = Said::by(Command::new("bash").arg("-n").arg(&path), "");
    assert_eq!((read.code, read.errors.as_str()), (0, ""));
    for (words, expected) in [
        ("te", "team"),
        ("api-key cr", "create"),
        ("api-key create --mo", "--mode"),
        ("api-key create --mode l", "live"),
        ("member add --role a", "admin"),
        ("openapi m", "mobile"),
        ("help li", "link"),
    ] {
        let mut bash = Command::new("bash");
        bash.args(["-c", TAB, "bash"]).arg(&path).arg("invoicing");
        let said = Said::by(bash.args(words.split(' ')), "");
        let found = (said.output.trim_end(), said.errors.as_str());
        assert_eq!(found, (expected, ""), "{words}");
    }
}

#[test]
fn there_is_a_script_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(&["completions", shell]);
        assert_eq!(script.code, 0, "{shell}");
        assert!(script.output.contains("oauth-client"), "{shell}");
    }
    place.run(&["completions", "csh"]).failed(2, "powershell");
}
