//! expat by its bindings: handlers that collect what a document has.
use expat_protected::*;
use std::sync::{Arc, Mutex};

fn parse(document: &[u8]) -> Result<(Vec<String>, Option<String>), Error> {
    let parser = XML_ParserCreate(None::<&str>)?.expect("a parser");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |seen: &Arc<Mutex<Vec<String>>>, what: String| seen.lock().unwrap().push(what);
    let (starts, ends, texts) = (seen.clone(), seen.clone(), seen.clone());
    let start = XMLStartElementHandler::new(move |name, attributes| {
        let attributes: Vec<_> = attributes.iter().map(|text| text.to_string_lossy().into_owned()).collect();
        note(&starts, format!("<{} {}>", name.to_string_lossy(), attributes.join(",")));
    })?;
    let end = XMLEndElementHandler::new(move |name| note(&ends, format!("</{}>", name.to_string_lossy())))?;
    let text = XMLCharacterDataHandler::new(move |s, _| note(&texts, String::from_utf8_lossy(s).into_owned()))?;
    XML_SetElementHandler(&parser, &start, &end)?;
    XML_SetCharacterDataHandler(&parser, &text)?;
    let mut error = None;
    // In pieces; the last one by the library's own buffer.
    let (first, rest) = document.split_at(document.len() / 2);
    let mut status = XML_Parse(&parser, first, 0)?;
    if status == XMLStatus::XML_STATUS_OK {
        assert!(XML_GetBuffer(&parser, rest.len() as i32, rest)?.is_some());
        status = XML_ParseBuffer(&parser, rest.len() as i32, 1)?;
    }
    if status == XMLStatus::XML_STATUS_ERROR {
        let code = XML_GetErrorCode(&parser)?;
        error = XML_ErrorString(code)?.map(|text| text.to_string_lossy().into_owned());
    }
    XML_ParserFree(parser)?;
    let seen = seen.lock().unwrap().clone();
    Ok((seen, error))
}

fn main() -> Result<(), Error> {
    let (seen, error) = parse(b"<a x='1' y='2'><b/>text</a>")?;
    assert_eq!(error, None);
    assert_eq!(seen.concat(), "<a x,1,y,2><b ></b>text</a>");
    let (seen, error) = parse(b"<a><b>some more text</a></b>")?;
    assert_eq!(error.as_deref(), Some("mismatched tag"));
    assert_eq!(seen.concat(), "<a ><b >some more text");
    let features = XML_GetFeatureList()?;
    assert!(features.iter().any(|f| f.name.as_deref() == Some(c"sizeof(XML_Char)") && f.value == 1));
    assert!(XML_ExpatVersion()?.expect("a version").to_bytes().starts_with(b"expat_"));

    // A handler that has been dropped ends the call that it comes from.
    let parser = XML_ParserCreate(None::<&str>)?.expect("a parser");
    drop({
        let handler = XMLStartElementHandler::new(|_, _| ())?;
        XML_SetElementHandler(&parser, &handler, None)?;
        handler
    });
    let error = XML_Parse(&parser, b"<a/>", 1).unwrap_err();
    assert!(error.message.contains("dropped"), "{error}");
    Ok(())
}
